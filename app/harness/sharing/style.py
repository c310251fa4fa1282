"""The one style sheet of a shared file: both themes, as the reader's system has it.

Owns: colours and sizes. The policy of the file names the digest of this text.
"""

STYLE = """
:root{color-scheme:light dark;--back:#f6f6f4;--surface:#fff;--raised:#f1f1ee;--line:#dadad4;--text:#1b1d1c;
--quiet:#5a615d;--accent:#1f5f5b;--soft:#e3efec;--failed:#b3261e;--done:#44644f;--waiting:#855600;
--mono:"JetBrains Mono",ui-monospace,"Cascadia Code",Menlo,Consolas,"DejaVu Sans Mono",monospace}
@media (prefers-color-scheme:dark){:root{--back:#131615;--surface:#191d1c;--raised:#222726;--line:#353c3a;
--text:#e4e8e6;--quiet:#9ca6a2;--accent:#6fc2b8;--soft:#21403c;--failed:#ff8f85;--done:#93b5a0;--waiting:#e8b75a}}
*{box-sizing:border-box}
body{margin:0 auto;padding:24px 16px 64px;max-width:832px;background:var(--back);color:var(--text);
font:15px/1.52 Inter,system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;
overflow-wrap:anywhere}
header{margin:0 0 24px;padding:0 0 12px;border-bottom:1px solid var(--line)}
h1{margin:0 0 4px;font-size:22px;line-height:1.3}
header p{margin:0}
.quiet{color:var(--quiet)}
footer{margin-top:32px;padding-top:12px;border-top:1px solid var(--line);font-size:13px}
a{color:var(--accent)}
a:focus-visible,summary:focus-visible,pre:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
article{margin:20px 0 12px}
article>:is(h2,h3,h4,h5,h6):first-child{display:flex;flex-wrap:wrap;gap:0 8px;
align-items:baseline;margin:0 0 4px;font-size:13px;line-height:20px;font-weight:600}
article>:first-child>.quiet{font-weight:400}
article>:first-child>a{margin-left:auto;text-decoration:none;font-variant-numeric:tabular-nums}
.operator{padding:10px 14px;border:1px solid var(--line);border-radius:6px;background:var(--surface)}
.text>:first-child{margin-top:0}
.text>:last-child{margin-bottom:0}
.text :is(h3,h4,h5,h6){margin:20px 0 8px;line-height:1.35}
.text h3{font-size:17px}
.text :is(h4,h5,h6){font-size:15px}
.text :is(p,ul,ol,blockquote,table,pre){margin:0 0 10px}
.text :is(p,li,h3,h4,h5,h6,th,td){unicode-bidi:plaintext;text-align:start}
.text :is(ul,ol){padding-left:24px}
blockquote{padding:0 0 0 12px;border-left:3px solid var(--line);color:var(--quiet)}
hr{border:0;border-top:1px solid var(--line);margin:16px 0}
table{display:block;max-width:100%;overflow-x:auto;border-collapse:collapse}
th,td{padding:4px 10px;border:1px solid var(--line)}
.text .right{text-align:right}
.text .center{text-align:center}
code,pre{font-family:var(--mono);font-size:12.5px;line-height:1.52;direction:ltr;unicode-bidi:isolate}
code{padding:1px 4px;border-radius:4px;background:var(--raised)}
pre{margin:0 0 10px;padding:10px 12px;max-height:480px;overflow:auto;border:1px solid var(--line);
border-radius:6px;background:var(--surface);white-space:pre-wrap;tab-size:4}
pre code{padding:0;background:none}
.link{text-decoration:underline dotted}
details{margin:6px 0}
summary{cursor:pointer}
.call,.thinking,.note{margin:4px 0;font-size:13px;color:var(--quiet)}
.call strong{color:var(--text);font-weight:600}
.call code{background:none;padding:0}
.mark{display:inline-block;padding:0 6px;border:1px solid;border-radius:10px;font-size:11px;line-height:16px}
.mark.done{color:var(--done)}
.mark.failed,.note.failed{color:var(--failed)}
.mark.open{color:var(--waiting)}
h6{margin:8px 0 4px;font-size:12px}
details>pre,details>h6{margin-left:16px}
details.agent{padding:4px 12px;border:1px solid var(--line);border-left:3px solid var(--accent);
border-radius:6px}
details.agent>summary{font-weight:600}
img{max-width:100%;height:auto;border:1px solid var(--line);border-radius:6px}
@media print{pre{max-height:none}body{background:none}}
"""
