/** The names of this release: the build writes them. */
const BUILT_FILES = [
	"AttemptsView-js879ui3mm.js",
	"AttemptsView-o9ixm95on1.css",
	"CageView-e1196mpuqp.css",
	"CageView-i20bc12c9d.js",
	"CallBody-h6kg7uzkiu.js",
	"CallBody-jrgtqw1czh.css",
	"ChangedFile-h9frnvs2fo.js",
	"Changes-dsysrfko80.js",
	"CommandPalette-dqtf5q3h6r.js",
	"CommandPalette-kmm4q56fyk.css",
	"Files-hbd8ls2nhi.js",
	"Files-kl6bhdykcf.css",
	"GitView-cuetjg0gx3.js",
	"MergePlan-fudxxuqzgn.js",
	"MergeView-hijvxszss1.js",
	"ProjectPicker-h6bnjjfpju.css",
	"ProjectPicker-nsyqknzm6o.js",
	"Question-lnob9psnwt.js",
	"QuestionList-lo20ac1er5.js",
	"SessionTab-irulzg8vrw.css",
	"SessionTab-petlez2z3o.js",
	"ShortcutSheet-izj301qmf6.js",
	"ShortcutSheet-lj72qf6ywc.css",
	"cage-mm8zevu1fk.js",
	"calls-c3yxzdcsn1.js",
	"changes-0s3anng6r5.js",
	"changes-pc0bhpacr5.css",
	"dialogs-ht6dr9x7j4.js",
	"dialogs-l4zr4tulde.css",
	"diff-f83hdywmqs.js",
	"diff-hsilzv4rtm.css",
	"dom-ltg53pdmp6.js",
	"fields-ht7ywmazhx.js",
	"first_steps-j1e8f2ddtz.js",
	"highlighting-di0gko6v1i.js",
	"highlighting-gnqh236h5q.js",
	"highlighting-nhm4d35azf.css",
	"highlighting_worker-gyfc37bat1.js",
	"inbox_page-bx1l6bzgfs.css",
	"inbox_page-f8gkels9to.js",
	"index-g7hj5poj8z.js",
	"index-hz3pw9btmd.css",
	"inter-mpvciq5z6x.woff2",
	"issue_views-k78xpczqou.css",
	"issue_views-k9l1gnn143.js",
	"jetbrains_mono-nh4clc2oa2.woff2",
	"markdown_view-jznokpsmeh.js",
	"markdown_view-llt5417jat.js",
	"mathematics-nsd1lf2fxd.js",
	"messages-jngfa4tg7u.css",
	"more-gbh80wvuva.css",
	"more-mh6cy4qnhj.js",
	"notifications-d8yjnvfc6w.css",
	"notifications-guhogf1yla.js",
	"notifications-h0jtylbxe5.js",
	"offer-fjv1bbdan9.js",
	"page-ktjhedhhpf.css",
	"parts-dzww3f1ufe.js",
	"parts-iewvkgzvdi.css",
	"questions-cum7ewyv2a.js",
	"questions-ivi1y7piaa.css",
	"reference-idud1xvz16.js",
	"reference-opyz5bwcu1.css",
	"session_menu-ciqsf82kmd.css",
	"session_menu-h6cgad0iyy.js",
	"settings_page-ekrhxp1z8x.js",
	"settings_page-k9e9xr0v3m.css",
	"share_dialog-d7twchbkjx.css",
	"share_dialog-j1htnmug3i.js",
	"svelte-ws81arsa83.js",
	"terminal_text-edux1vfi97.js",
	"terminal_text-lgk89qx9yq.js",
	"trust_page-cw87nwx587.css",
	"trust_page-m92ofml5wk.js",
	"views-b7j9iyibvr.js",
	"workflow_views-b6n9xyo0b9.js",
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
