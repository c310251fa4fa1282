/** The names of this release: the build writes them. */
const BUILT_FILES = [
	"AgentTab-bjktzkfmzw.js",
	"AgentTab-limhej6lhb.css",
	"AttemptsView-bw1gavtfob.js",
	"AttemptsView-o9ixm95on1.css",
	"CageView-e1196mpuqp.css",
	"CageView-ek0c0b99s7.js",
	"CageView-g4mc5j9hhn.js",
	"CallBody-fib45q3kj3.js",
	"CallBody-l0qlp6efah.css",
	"ChangedFile-l9j24hnzyr.js",
	"Changes-cg7llkhrmx.js",
	"CommandPalette-cgjbknz09g.js",
	"CommandPalette-h7da9wtorj.css",
	"Files-kl6bhdykcf.css",
	"Files-mogksne12e.js",
	"GitView-klsgwb3w0j.js",
	"MergePlan-bjyb61vf9i.js",
	"MergeView-f25o88jjb8.js",
	"OtherModel-3g2bt03fe8.js",
	"OtherModel-iewvkgzvdi.css",
	"ProjectPicker-h6bnjjfpju.css",
	"ProjectPicker-jtbhgrsawn.js",
	"Question-bkt6ngi63y.js",
	"QuestionList-f4enf1v0fk.js",
	"Reverts-iaa3beql80.js",
	"SessionTab-fl63rgwdr9.js",
	"SessionTab-irulzg8vrw.css",
	"ShortcutSheet-e7fha8e3ig.js",
	"ShortcutSheet-lj72qf6ywc.css",
	"StopAgent-cpfy8wqvbd.js",
	"Trouble-dh4afw39uk.js",
	"cage-b6ukm2kcup.js",
	"cage-k070a465gz.js",
	"calls-d4pi9r1nef.js",
	"changes-darkxmult8.js",
	"changes-f5p86obsg7.css",
	"dialogs-ht6dr9x7j4.js",
	"dialogs-l4zr4tulde.css",
	"diff-hsilzv4rtm.css",
	"diff-o0od5yf6f5.js",
	"dom-gm8gzi785r.js",
	"fields-orf88mxqvj.js",
	"first_steps-j2numrp9am.js",
	"highlighted_lines-k2va29s6gh.js",
	"highlighting-gdf6pm5wau.js",
	"highlighting-nhm4d35azf.css",
	"highlighting-nm1jno1f2z.js",
	"highlighting_worker-gyfc37bat1.js",
	"inbox_page-bx1l6bzgfs.css",
	"inbox_page-kcfsgddjwo.js",
	"index-bgkrgsf9j2.js",
	"index-lqhi0xd1zn.css",
	"inter-mpvciq5z6x.woff2",
	"issue_views-fm75oyrzup.js",
	"issue_views-k78xpczqou.css",
	"jetbrains_mono-nh4clc2oa2.woff2",
	"markdown_view-b974pgsuhw.js",
	"markdown_view-h59r0gg3dd.js",
	"mathematics-nsd1lf2fxd.js",
	"messages-ls02h2hzjv.css",
	"more-cmrwkejkre.js",
	"more-gbh80wvuva.css",
	"notifications-b3258rmq7k.js",
	"notifications-b82bnbu3i9.js",
	"notifications-d8yjnvfc6w.css",
	"offer-hbw7j9ibj4.js",
	"page-bd6armst8k.css",
	"parts-b2eryrt9sw.js",
	"questions-ivi1y7piaa.css",
	"questions-lojulv65v5.js",
	"reference-i4pepvgf6n.css",
	"reference-l1muwvjwv1.js",
	"session_menu-bbb6ve3yfj.js",
	"session_menu-ciqsf82kmd.css",
	"settings_page-h6yji32jmy.js",
	"settings_page-k9e9xr0v3m.css",
	"share_dialog-d7twchbkjx.css",
	"share_dialog-glaqx5um8d.js",
	"svelte-ws81arsa83.js",
	"terminal_text-ehejw273gu.js",
	"terminal_text-hpn9tesxqe.js",
	"tips-bhmq83s308.css",
	"tips-fn0zz554za.js",
	"trust_page-cw87nwx587.css",
	"trust_page-d95hgxks50.js",
	"views-lw6wipbcat.js",
	"views-nk2xha2f0y.css",
	"workflow_views-m3gf1j2doj.js",
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
