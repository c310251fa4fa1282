/** The names of this release: the build writes them. */
const BUILT_FILES = [
	"AgentTab-g9ssybkyzh.js",
	"AgentTab-limhej6lhb.css",
	"AttemptsView-o9ixm95on1.css",
	"AttemptsView-y1wa7f7302.js",
	"CageView-dkcyroqc2s.js",
	"CageView-e1196mpuqp.css",
	"CageView-ov154yi6dd.js",
	"CallBody-f627c7op6v.js",
	"CallBody-l0qlp6efah.css",
	"ChangedFile-0i7pv9z4h0.js",
	"Changes-o3vbun6rfw.js",
	"CommandPalette-h7da9wtorj.css",
	"CommandPalette-qlzj6f2gbc.js",
	"Files-bknyxi07en.js",
	"Files-kl6bhdykcf.css",
	"GitView-o2alvhbal7.js",
	"MergePlan-opldutkyxw.js",
	"MergeView-kw4ki2oioz.js",
	"OtherModel-iewvkgzvdi.css",
	"OtherModel-lq6ltfrvaq.js",
	"ProjectPicker-b58nqvl7p6.js",
	"ProjectPicker-h6bnjjfpju.css",
	"Question-mitzptb85y.js",
	"QuestionList-j79s9vad6f.js",
	"Reverts-gko8lbs4ot.js",
	"SessionTab-irulzg8vrw.css",
	"SessionTab-rfx3lhduoc.js",
	"ShortcutSheet-lj72qf6ywc.css",
	"ShortcutSheet-myo1fou27h.js",
	"StopAgent-dd3snnywny.js",
	"Trouble-k6p1178w90.js",
	"cage-jcotp9ftam.js",
	"cage-n2g9z70mk4.js",
	"calls-lrssq816fa.js",
	"changes-f5p86obsg7.css",
	"changes-imkk9fwf5q.js",
	"dialogs-ht6dr9x7j4.js",
	"dialogs-l4zr4tulde.css",
	"diff-hsilzv4rtm.css",
	"diff-mi07ixzums.js",
	"dom-dngy8ez2wh.js",
	"fields-dudkoyk4jf.js",
	"first_steps-gzfkrwdnq6.js",
	"highlighted_lines-c53smids4g.js",
	"highlighting-dbk1b06g19.js",
	"highlighting-gu6cjbcxbp.js",
	"highlighting-nhm4d35azf.css",
	"highlighting_worker-gyfc37bat1.js",
	"inbox_page-bqjhbb8vqf.js",
	"inbox_page-bx1l6bzgfs.css",
	"index-by8hhjr1mo.js",
	"index-lqhi0xd1zn.css",
	"inter-mpvciq5z6x.woff2",
	"issue_views-k78xpczqou.css",
	"issue_views-mhnuczc9po.js",
	"jetbrains_mono-nh4clc2oa2.woff2",
	"markdown_view-53q67vqwl0.js",
	"markdown_view-ckf17of44w.js",
	"mathematics-nsd1lf2fxd.js",
	"messages-ls02h2hzjv.css",
	"more-gbh80wvuva.css",
	"more-lrjiecaow4.js",
	"notifications-d8yjnvfc6w.css",
	"notifications-f5qr4mfj31.js",
	"notifications-mks5e4t32g.js",
	"offer-jgiofaejai.js",
	"page-bd6armst8k.css",
	"parts-edsgo4no61.js",
	"questions-c8qbjo5rhs.js",
	"questions-ivi1y7piaa.css",
	"reference-i4pepvgf6n.css",
	"reference-mkqg804cjg.js",
	"session_menu-ciqsf82kmd.css",
	"session_menu-ech8szr35c.js",
	"settings_page-g550kwqota.js",
	"settings_page-k9e9xr0v3m.css",
	"share_dialog-d7twchbkjx.css",
	"share_dialog-g6tn2zzyyu.js",
	"svelte-ws81arsa83.js",
	"terminal_text-fuuyug9uvz.js",
	"terminal_text-lcd2tqlpxw.js",
	"tips-bhmq83s308.css",
	"tips-js8xj6ayxz.js",
	"trust_page-cw87nwx587.css",
	"trust_page-l2snv9omgf.js",
	"views-nk2xha2f0y.css",
	"views-notyvventc.js",
	"workflow_views-cmcqzcuek8.js",
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
