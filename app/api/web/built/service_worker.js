/** The names of this release: the build writes them. */
const BUILT_FILES = [
	"AgentTab-cflyhwdlwj.js",
	"AgentTab-limhej6lhb.css",
	"AttemptsView-dnezlz4ji9.js",
	"AttemptsView-o9ixm95on1.css",
	"CageView-df90vl8h7v.js",
	"CageView-e1196mpuqp.css",
	"CageView-m4ucbao752.js",
	"CallBody-i59a2nqijj.js",
	"CallBody-l0qlp6efah.css",
	"ChangedFile-hs2oguggf7.js",
	"Changes-nyrmkn51o1.js",
	"CommandPalette-h7da9wtorj.css",
	"CommandPalette-o0o4ewyskj.js",
	"Files-flpb9pc2hl.js",
	"Files-kl6bhdykcf.css",
	"GitView-iwni1wv94p.js",
	"MergePlan-epqpc1ggcv.js",
	"MergeView-maicy102f0.js",
	"OtherModel-f51ayjdn6r.js",
	"OtherModel-iewvkgzvdi.css",
	"ProjectPicker-e3pw6za972.js",
	"ProjectPicker-h6bnjjfpju.css",
	"Question-jtgrw9pd0s.js",
	"QuestionList-oq5yaqo0kf.js",
	"Reverts-ni8ylaqa35.js",
	"SessionTab-irulzg8vrw.css",
	"SessionTab-jaoajoi6fe.js",
	"ShortcutSheet-lj72qf6ywc.css",
	"ShortcutSheet-ln158dg1rh.js",
	"StopAgent-x5zrfuqshw.js",
	"Trouble-eptm0sfhkc.js",
	"cage-b3h2tumi7s.js",
	"cage-ip3u3ruozi.js",
	"calls-ntzzfoia9h.js",
	"changes-f5p86obsg7.css",
	"changes-g88tc2r086.js",
	"dialogs-ht6dr9x7j4.js",
	"dialogs-l4zr4tulde.css",
	"diff-fx08zplrw4.js",
	"diff-hsilzv4rtm.css",
	"dom-gm8gzi785r.js",
	"fields-kmh1if7y9x.js",
	"first_steps-g1g1m5u1xi.js",
	"highlighted_lines-fz559u7bci.js",
	"highlighting-dao097c8gv.js",
	"highlighting-k28enhzoxy.js",
	"highlighting-nhm4d35azf.css",
	"highlighting_worker-gyfc37bat1.js",
	"inbox_page-bx1l6bzgfs.css",
	"inbox_page-hprxt1nngp.js",
	"index-fjz94l3b8a.css",
	"index-gm2r8koju4.js",
	"inter-mpvciq5z6x.woff2",
	"issue_views-k78xpczqou.css",
	"issue_views-m08nq7i2yr.js",
	"jetbrains_mono-nh4clc2oa2.woff2",
	"markdown_view-jhpvw1x8uz.js",
	"markdown_view-oxb4xg2trb.js",
	"mathematics-nsd1lf2fxd.js",
	"messages-ls02h2hzjv.css",
	"more-e9ixou5dxy.js",
	"more-gbh80wvuva.css",
	"notifications-d8yjnvfc6w.css",
	"notifications-e3ciq0lbuh.js",
	"notifications-olut7oeatx.js",
	"offer-cp7ljwbedp.js",
	"page-bd6armst8k.css",
	"parts-oymw1els3z.js",
	"questions-ivi1y7piaa.css",
	"questions-jctu5tv8jk.js",
	"reference-i4pepvgf6n.css",
	"reference-l1muwvjwv1.js",
	"session_menu-ciqsf82kmd.css",
	"session_menu-o8leq5r060.js",
	"settings_page-ii41bwta55.js",
	"settings_page-k9e9xr0v3m.css",
	"share_dialog-5f6yv7tr5f.js",
	"share_dialog-d7twchbkjx.css",
	"svelte-ws81arsa83.js",
	"terminal_text-ehejw273gu.js",
	"terminal_text-hpn9tesxqe.js",
	"tips-bhmq83s308.css",
	"tips-fn0zz554za.js",
	"trust_page-b62aq5v2kc.js",
	"trust_page-cw87nwx587.css",
	"views-n96st40n23.js",
	"views-nk2xha2f0y.css",
	"workflow_views-6exm6vfe6e.js",
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
