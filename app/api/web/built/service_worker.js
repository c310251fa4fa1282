/** The names of this release: the build writes them. */
const BUILT_FILES = [
	"AgentTab-ebbla5l9c1.js",
	"AgentTab-limhej6lhb.css",
	"AttemptsView-ggudpjer0h.js",
	"AttemptsView-o9ixm95on1.css",
	"CageView-e1196mpuqp.css",
	"CageView-gy2weh6tgf.js",
	"CageView-kowvdqiljb.js",
	"CallBody-l0qlp6efah.css",
	"CallBody-n54i34w2c2.js",
	"ChangedFile-y8zgrpmn90.js",
	"Changes-ofsqphggdn.js",
	"CommandPalette-h7da9wtorj.css",
	"CommandPalette-ix3slpdiyq.js",
	"Files-fddf1k4v8n.js",
	"Files-kl6bhdykcf.css",
	"GitView-eflpzy4qmn.js",
	"MergePlan-nw1ntnk4ti.js",
	"MergeView-hoya3lvio4.js",
	"OtherModel-iewvkgzvdi.css",
	"OtherModel-kvlrxyolch.js",
	"ProjectPicker-h6bnjjfpju.css",
	"ProjectPicker-nlur0s9z5t.js",
	"Question-f3ecgvg9du.js",
	"QuestionList-mg0ymbk5eo.js",
	"Reverts-irahcjyp6d.js",
	"SessionTab-irulzg8vrw.css",
	"SessionTab-m8kla3lonv.js",
	"ShortcutSheet-ioohrqic6h.js",
	"ShortcutSheet-lj72qf6ywc.css",
	"StopAgent-jmthmvbv1z.js",
	"Trouble-3acq7iva69.js",
	"cage-dwqg4dcj5z.js",
	"cage-lpq3fkmnp0.js",
	"calls-kmltk7w728.js",
	"changes-f5p86obsg7.css",
	"changes-hck9848fz8.js",
	"dialogs-ht6dr9x7j4.js",
	"dialogs-l4zr4tulde.css",
	"diff-hsilzv4rtm.css",
	"diff-lrbmssgcsy.js",
	"dom-gm8gzi785r.js",
	"fields-miad6sjwxp.js",
	"first_steps-lbtw9vuho0.js",
	"highlighted_lines-fu9qadonvj.js",
	"highlighting-jt8sm3yzl3.js",
	"highlighting-mbddfuc7r7.js",
	"highlighting-nhm4d35azf.css",
	"highlighting_worker-gyfc37bat1.js",
	"inbox_page-bx1l6bzgfs.css",
	"inbox_page-nc9jel77iw.js",
	"index-lladx1c6y8.js",
	"index-lqhi0xd1zn.css",
	"inter-mpvciq5z6x.woff2",
	"issue_views-ik9p6wjmdp.js",
	"issue_views-k78xpczqou.css",
	"jetbrains_mono-nh4clc2oa2.woff2",
	"markdown_view-fz66pje34m.js",
	"markdown_view-h4c3zaqzwq.js",
	"mathematics-nsd1lf2fxd.js",
	"messages-ls02h2hzjv.css",
	"more-gbh80wvuva.css",
	"more-ozydu8sj4x.js",
	"notifications-b8ylkyzxcs.js",
	"notifications-d8yjnvfc6w.css",
	"notifications-m58dgzp2dm.js",
	"offer-bef94ozte7.js",
	"page-bd6armst8k.css",
	"parts-j1hl0w1sck.js",
	"questions-ivi1y7piaa.css",
	"questions-n8yruq7krt.js",
	"reference-i4pepvgf6n.css",
	"reference-l1muwvjwv1.js",
	"session_menu-ciqsf82kmd.css",
	"session_menu-mgy4mkp7e4.js",
	"settings_page-k9e9xr0v3m.css",
	"settings_page-op20r8f736.js",
	"share_dialog-c7k2c1o2qz.js",
	"share_dialog-d7twchbkjx.css",
	"svelte-ws81arsa83.js",
	"terminal_text-ehejw273gu.js",
	"terminal_text-hpn9tesxqe.js",
	"tips-bhmq83s308.css",
	"tips-fn0zz554za.js",
	"trust_page-cw87nwx587.css",
	"trust_page-p3q6s9jiit.js",
	"views-ffvr1ti58c.js",
	"views-nk2xha2f0y.css",
	"workflow_views-md7x1gunh2.js",
	"workflow_views-ok2uu7z2t6.css"
];
const worker = globalThis;
const FILES = new Set(BUILT_FILES);
/** Daemons below other paths of this host have keeps of their own. */
const KEEP = `kaged ${worker.registration.scope}`;
const FOLDER = new URL("static/", worker.registration.scope).href;
worker.addEventListener("install", (event) => event.waitUntil(worker.skipWaiting()));
worker.addEventListener("activate", (event) => event.waitUntil(tidy().then(() => worker.clients.claim())));
worker.addEventListener("fetch", (event) => {
	const { request } = event;
	if (request.method === "GET" && isBuilt(request.url)) event.respondWith(answer(request));
});
function isBuilt(address) {
	return address.startsWith(FOLDER) && FILES.has(address.slice(FOLDER.length));
}
async function answer(request) {
	const keep = await caches.open(KEEP);
	const known = await keep.match(request.url);
	if (known) return known;
	const fresh = await fetch(request);
	// Only the file itself: not a refusal, not a page to sign in, not where something else led.
	if (fresh.status === 200 && fresh.type === "basic" && !fresh.redirected) await keep.put(request.url, fresh.clone()).catch(() => undefined);
	return fresh;
}
/** Forget the files of other releases. */
async function tidy() {
	const keep = await caches.open(KEEP);
	const old = (await keep.keys()).filter((request) => !isBuilt(request.url));
	await Promise.all(old.map((request) => keep.delete(request)));
}
