// Bundles the console, the pages that people use in a browser: scripts and styles under names that have their hash, and the
// page that loads the first of them.
import { basename } from "node:path"
import { bundle, pageFile } from "./browserBundle.mjs"

const base = "/console/"

/** The page's rules. Nothing comes from another host, and no text of a tenant becomes a script or a style. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'"
].join("; ")

/** A square with two connected points, as both the browser's icon and the console's mark. */
const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%234f46e5'/%3E%3Cpath d='M4.5 11.5 11.5 4.5' stroke='%23fff' stroke-width='1.6'/%3E%3Ccircle cx='4.5' cy='11.5' r='2' fill='%23fff'/%3E%3Ccircle cx='11.5' cy='4.5' r='2' fill='%23fff'/%3E%3C/svg%3E"

const pageOf = ({ preload, script, style }) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>svc</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${style}">
${preload.map((path) => `<link rel="modulepreload" href="${path}">`).join("\n")}
<script type="module" src="${script}"></script>
</head>
<body>
<div id="root"></div>
<noscript><p>The console needs JavaScript. Everything that it does the API does, too: <a href="/docs">its documentation</a>.</p></noscript>
</body>
</html>
`

/** The files of the console: path, headers, and bytes. */
export const consoleFiles = async () => {
  const { assets, entry, metafile, script } = await bundle({ entryPoint: "src/http/web/console/Main.tsx", base })
  const pathOf = (file) => `${base}${basename(file)}`
  const preload = entry.imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => pathOf(path))
  const page = pageOf({ script: pathOf(script), style: pathOf(entry.cssBundle), preload })
  const headers = { "content-security-policy": policy, "cross-origin-opener-policy": "same-origin" }
  return { files: [pageFile(base, page, headers), ...assets], metafile }
}
