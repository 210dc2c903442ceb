// Bundles what flows evaluate expressions with into one expression of JavaScript, for guests.
import { buildSync } from "esbuild"

const entry = "src/domain/expression/GuestLibrary.ts"

/** An expression whose value is an object of the functions that the entry exports. */
const bundled = () => {
  const { metafile, outputFiles } = buildSync({
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    target: "es2022",
    minify: true,
    charset: "ascii",
    legalComments: "none",
    // The text stands in a template itself.
    supported: { "template-literal": false }
  })
  const foreign = Object.keys(metafile.inputs).filter((name) => !name.startsWith("src/domain/"))
  if (foreign.length > 0) throw new Error(`${entry} must import no library: it bundles ${foreign.join(", ")}`)
  const exported = /export\{([^}]*)\};?\s*$/
  const [{ text }] = outputFiles
  const [, names] = exported.exec(text) ?? []
  if (names === undefined || /`|\$\{/.test(text)) throw new Error(`the bundle of ${entry} has another form than before`)
  const members = names.split(",").map((name) => name.replace(/^(.*) as (.*)$/, "$2:$1"))
  return `(()=>{"use strict";${text.slice(0, text.search(exported))}return{${members.join(",")}}})()`
}

/** The module with the text. */
export const flowLibraryModule = () =>
  [
    "/** `GuestLibrary.ts` as text: an expression whose value is an object of its functions. Generated. */",
    `export const flowLibrary = String.raw\`${bundled()}\``,
    ""
  ].join("\n")
