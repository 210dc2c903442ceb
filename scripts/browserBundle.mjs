// Bundles what runs in browsers: scripts and styles under names that have their hash, with the headers of each file.
import { basename } from "node:path"
import { build } from "esbuild"

const common = { "cross-origin-resource-policy": "same-origin", "referrer-policy": "no-referrer" }
const types = { ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8" }
const typeOf = (path) => types[path.slice(path.lastIndexOf("."))]

/** The scripts and styles that a page needs, below `base`; `script` and `entry`: the one that the page loads. */
export const bundle = async ({ base, entryPoint, ...more }) => {
  const { metafile, outputFiles } = await build({
    entryPoints: [entryPoint],
    bundle: true,
    format: "esm",
    splitting: true,
    minify: true,
    target: ["chrome123", "firefox121", "safari17.5"],
    jsx: "automatic",
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
    define: { "process.env.NODE_ENV": '"production"' },
    loader: { ".css": "css" },
    outdir: "dist/browser",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    metafile: true,
    write: false,
    ...more
  })
  const [[script, entry]] = Object.entries(metafile.outputs).filter((output) => output[1].entryPoint === entryPoint)
  const assets = outputFiles.map(({ contents, path }) => ({
    path: `${base}${basename(path)}`,
    headers: { ...common, "content-type": typeOf(path), "cache-control": "public, max-age=31536000, immutable" },
    bytes: Buffer.from(contents)
  }))
  return { assets, entry, metafile, script }
}

/** A page, which browsers ask for again each time. */
export const pageFile = (path, html, headers) => ({
  path,
  headers: { ...common, "content-type": "text/html; charset=utf-8", "cache-control": "no-cache", ...headers },
  bytes: Buffer.from(html)
})
