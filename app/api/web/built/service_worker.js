/** The names of this release: the build writes them. */
const BUILT_FILES = [
	"AttemptsView-54www4a1ld.js",
	"AttemptsView-o9ixm95on1.css",
	"CageView-e1196mpuqp.css",
	"CageView-fiw3qp7rnv.js",
	"CageView-nstxwj4jhg.js",
	"CallBody-d8gqmqjjfe.js",
	"CallBody-l0qlp6efah.css",
	"ChangedFile-x22jhq0xw7.js",
	"Changes-k0fhlo3kkf.js",
	"CommandPalette-gg77vkph04.js",
	"CommandPalette-h7da9wtorj.css",
	"Files-kl6bhdykcf.css",
	"Files-nvtv34oniz.js",
	"GitView-csd3cvq0oy.js",
	"MergePlan-m9o8pd0rp4.js",
	"MergeView-kvy8pl5mmz.js",
	"ProjectPicker-h6bnjjfpju.css",
	"ProjectPicker-llsq7xlcjg.js",
	"Question-o96mwig3ss.js",
	"QuestionList-exmfsyfr2y.js",
	"Reverts-k1fhbb731o.js",
	"SessionTab-gsafytizes.js",
	"SessionTab-irulzg8vrw.css",
	"ShortcutSheet-b1f3mf6ith.js",
	"ShortcutSheet-lj72qf6ywc.css",
	"Trouble-mlx2lfnq3n.js",
	"cage-fqylqggcmk.js",
	"calls-cwazffcicf.js",
	"changes-c6h75i83jj.js",
	"changes-f5p86obsg7.css",
	"dialogs-ht6dr9x7j4.js",
	"dialogs-l4zr4tulde.css",
	"diff-hsilzv4rtm.css",
	"diff-i4eeqqj4cg.js",
	"dom-dngy8ez2wh.js",
	"failures-chldphqmg0.js",
	"fields-da5jmjukf2.js",
	"first_steps-n29ujhfs3f.js",
	"highlighted_lines-m9me9v2jnb.js",
	"highlighting-dolp8otpxg.js",
	"highlighting-nhm4d35azf.css",
	"highlighting-of3rg9jvm6.js",
	"highlighting_worker-gyfc37bat1.js",
	"inbox_page-b17dqez3jn.js",
	"inbox_page-bx1l6bzgfs.css",
	"index-i10se2mr7k.js",
	"index-lqhi0xd1zn.css",
	"inter-mpvciq5z6x.woff2",
	"issue_views-g5wqgh8j0v.js",
	"issue_views-k78xpczqou.css",
	"jetbrains_mono-nh4clc2oa2.woff2",
	"markdown_view-czdzaoq7e6.js",
	"markdown_view-ngocgvcrfm.js",
	"mathematics-nsd1lf2fxd.js",
	"messages-ehb6gtix9d.css",
	"more-gbh80wvuva.css",
	"more-gy2fa7ovlq.js",
	"notifications-d8yjnvfc6w.css",
	"notifications-f0vsva3ai3.js",
	"notifications-hwo0lnzrk6.js",
	"offer-is7gsqkbqa.js",
	"page-bd6armst8k.css",
	"parts-iewvkgzvdi.css",
	"parts-jwdhuzhg44.js",
	"questions-f68i11u04i.js",
	"questions-ivi1y7piaa.css",
	"reference-i4pepvgf6n.css",
	"reference-mkqg804cjg.js",
	"session_menu-ciqsf82kmd.css",
	"session_menu-frdjrwmx5t.js",
	"settings_page-d5i2cq8tz2.js",
	"settings_page-k9e9xr0v3m.css",
	"share_dialog-d7twchbkjx.css",
	"share_dialog-e4pgill06d.js",
	"svelte-ws81arsa83.js",
	"terminal_text-fuuyug9uvz.js",
	"terminal_text-lcd2tqlpxw.js",
	"tips-bhmq83s308.css",
	"tips-js8xj6ayxz.js",
	"trust_page-cw87nwx587.css",
	"trust_page-hwfwsk0xtk.js",
	"views-nk2xha2f0y.css",
	"views-ongkm0xeac.js",
	"workflow_views-dqcyj6ye7r.js",
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
