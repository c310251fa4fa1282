/** The names of this release: the build writes them. */
const BUILT_FILES = [
	"AgentTab-hgb2t931nf.js",
	"AgentTab-limhej6lhb.css",
	"AttemptsView-j7gia8zurg.js",
	"AttemptsView-o9ixm95on1.css",
	"CageView-e1196mpuqp.css",
	"CageView-goumd26vx0.js",
	"CageView-kjz0wpww3y.js",
	"CallBody-c4k91cqrmb.js",
	"CallBody-l0qlp6efah.css",
	"ChangedFile-gqrwhet8po.js",
	"Changes-o1931mhvfc.js",
	"CommandPalette-b01e0b01j4.js",
	"CommandPalette-h7da9wtorj.css",
	"Files-kl6bhdykcf.css",
	"Files-mg3vxqc7nl.js",
	"GitView-lev627camf.js",
	"MergePlan-j7kr98851k.js",
	"MergeView-nol4p3n3zz.js",
	"OtherModel-gkerrjrmrq.js",
	"OtherModel-iewvkgzvdi.css",
	"ProjectPicker-h6bnjjfpju.css",
	"ProjectPicker-jccdbjidx1.js",
	"Question-kttoyah0k7.js",
	"QuestionList-mb2ddmm3sn.js",
	"Reverts-g0a73r2dt5.js",
	"SessionTab-irulzg8vrw.css",
	"SessionTab-mmqltk0yuq.js",
	"ShortcutSheet-du9z1whctr.js",
	"ShortcutSheet-lj72qf6ywc.css",
	"StopAgent-le30ma44wu.js",
	"Trouble-gtz0yv1ps7.js",
	"cage-jd9bowyn4v.js",
	"cage-odzig1pw6q.js",
	"calls-br8rz2gdwr.js",
	"changes-f5p86obsg7.css",
	"changes-ga7yenfd2t.js",
	"dialogs-ht6dr9x7j4.js",
	"dialogs-l4zr4tulde.css",
	"diff-hsilzv4rtm.css",
	"diff-o9jdv0428i.js",
	"dom-gm8gzi785r.js",
	"fields-kkhhbcg96z.js",
	"first_steps-n2hgvrd5u1.js",
	"highlighted_lines-ndoxsya7ke.js",
	"highlighting-acekifyb6d.js",
	"highlighting-di7uru7b0t.js",
	"highlighting-nhm4d35azf.css",
	"highlighting_worker-gyfc37bat1.js",
	"inbox_page-bx1l6bzgfs.css",
	"inbox_page-m9qrspaev1.js",
	"index-fjz94l3b8a.css",
	"index-iqmbvz2yqz.js",
	"inter-mpvciq5z6x.woff2",
	"issue_views-ijwvjns1yt.js",
	"issue_views-k78xpczqou.css",
	"jetbrains_mono-nh4clc2oa2.woff2",
	"markdown_view-g27c6si04c.js",
	"markdown_view-h1tepprw5d.js",
	"mathematics-nsd1lf2fxd.js",
	"messages-ls02h2hzjv.css",
	"more-gbh80wvuva.css",
	"more-hkyv766zw2.js",
	"notifications-d8yjnvfc6w.css",
	"notifications-gu25tebuq1.js",
	"notifications-lszh4hoxf3.js",
	"offer-ybkx7mxns0.js",
	"page-bd6armst8k.css",
	"parts-b5lhx9hjvt.js",
	"questions-ivi1y7piaa.css",
	"questions-o35007ghz5.js",
	"reference-i4pepvgf6n.css",
	"reference-l1muwvjwv1.js",
	"session_menu-ciqsf82kmd.css",
	"session_menu-dyez1tnvjp.js",
	"settings_page-gdm8l6i5y7.js",
	"settings_page-k9e9xr0v3m.css",
	"share_dialog-b8njdd911e.js",
	"share_dialog-d7twchbkjx.css",
	"svelte-ws81arsa83.js",
	"terminal_text-ehejw273gu.js",
	"terminal_text-hpn9tesxqe.js",
	"tips-bhmq83s308.css",
	"tips-fn0zz554za.js",
	"trust_page-cw87nwx587.css",
	"trust_page-jspzblbjj0.js",
	"views-mratghrhic.js",
	"views-nk2xha2f0y.css",
	"workflow_views-b5lc614qgj.js",
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
