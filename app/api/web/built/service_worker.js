/** The names of this release: the build writes them. */
const BUILT_FILES = [
	"AttemptsView-n7w8d5dtzk.js",
	"AttemptsView-o9ixm95on1.css",
	"CageView-e1196mpuqp.css",
	"CageView-fefa0sxff6.js",
	"CageView-og1efrbb51.js",
	"CallBody-gn7nwdq2pm.js",
	"CallBody-l0qlp6efah.css",
	"ChangedFile-ixkvavdroj.js",
	"Changes-ktu3yn06ic.js",
	"CommandPalette-h7da9wtorj.css",
	"CommandPalette-hi6a2pgng0.js",
	"Files-kl6bhdykcf.css",
	"Files-z9dp15n9oq.js",
	"GitView-kiwn958o9g.js",
	"MergePlan-k4agz0tuzk.js",
	"MergeView-gnetkhpm8x.js",
	"ProjectPicker-h6bnjjfpju.css",
	"ProjectPicker-jhub9blxt3.js",
	"Question-h7l9ur8ipp.js",
	"QuestionList-oss8qp0m7p.js",
	"Reverts-cmhfgnmxa3.js",
	"SessionTab-bdp7xvygtd.js",
	"SessionTab-irulzg8vrw.css",
	"ShortcutSheet-djwb4flnsb.js",
	"ShortcutSheet-lj72qf6ywc.css",
	"cage-hzxemjavzy.js",
	"calls-byvc73aai7.js",
	"changes-f5p86obsg7.css",
	"changes-xaz15dr40s.js",
	"dialogs-ht6dr9x7j4.js",
	"dialogs-l4zr4tulde.css",
	"diff-hsilzv4rtm.css",
	"diff-n1wh8pz2l4.js",
	"dom-dngy8ez2wh.js",
	"failures-chldphqmg0.js",
	"fields-orfmeymg0f.js",
	"first_steps-i8lsfwwwkm.js",
	"highlighted_lines-jbjq0mh387.js",
	"highlighting-b068d4yxo8.js",
	"highlighting-nhm4d35azf.css",
	"highlighting-ooie4hmvty.js",
	"highlighting_worker-gyfc37bat1.js",
	"inbox_page-bx1l6bzgfs.css",
	"inbox_page-f02d8lckhj.js",
	"index-b3eov97iqb.js",
	"index-lqhi0xd1zn.css",
	"inter-mpvciq5z6x.woff2",
	"issue_views-cwbc7cvnpf.js",
	"issue_views-k78xpczqou.css",
	"jetbrains_mono-nh4clc2oa2.woff2",
	"markdown_view-b3rlns3c1z.js",
	"markdown_view-fuwipnjjx6.js",
	"mathematics-nsd1lf2fxd.js",
	"messages-mz33s94acj.css",
	"more-gbh80wvuva.css",
	"more-mj66yec9kf.js",
	"notifications-d8yjnvfc6w.css",
	"notifications-ehqpbowww4.js",
	"notifications-jqyoqko9dj.js",
	"offer-j95esnhdqi.js",
	"page-bd6armst8k.css",
	"parts-fa12dffzk7.js",
	"parts-iewvkgzvdi.css",
	"questions-bzltsm725y.js",
	"questions-ivi1y7piaa.css",
	"reference-i4pepvgf6n.css",
	"reference-mkqg804cjg.js",
	"session_menu-caz0su7j7y.js",
	"session_menu-ciqsf82kmd.css",
	"settings_page-dqrvmricoe.js",
	"settings_page-k9e9xr0v3m.css",
	"share_dialog-d7twchbkjx.css",
	"share_dialog-naojt299q5.js",
	"svelte-ws81arsa83.js",
	"terminal_text-fuuyug9uvz.js",
	"terminal_text-lcd2tqlpxw.js",
	"tips-bhmq83s308.css",
	"tips-js8xj6ayxz.js",
	"trust_page-cw87nwx587.css",
	"trust_page-de2uqc2h14.js",
	"views-nk2xha2f0y.css",
	"views-ov8pcnr4cv.js",
	"workflow_views-n6q18nog9e.js",
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
