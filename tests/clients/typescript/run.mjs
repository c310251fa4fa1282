// Usage: node run.mjs PACKAGE URL TOKEN SESSION TEXT [ANSWER]; prints how the run ended, and the questions.

const [address, baseUrl, token, session, text, answer] = process.argv.slice(2);
const { createKaged } = await import(address);
const asked = [];
const onQuestion = (question) => {
  asked.push(question.kind);
  return JSON.parse(answer);
};
try {
  const result = await createKaged({ baseUrl, token }).run(session, text, answer ? { onQuestion } : {});
  console.log(JSON.stringify({ text: result.text, state: result.run.state, asked }));
} catch (error) {
  console.log(JSON.stringify({ name: error.name, code: error.code, status: error.status, id: error.interactionId }));
}
