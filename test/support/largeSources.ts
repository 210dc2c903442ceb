/** Sources of workflows of the greatest size. */
const body = (code: string) => `export default async function (ctx) {\n${code}\n}`

/** Repeats a line up to the size limit. */
const filled = (line: (at: number) => string) => {
  const lines: Array<string> = []
  for (let size = 0; size < 508 * 1024;) size += (lines[lines.push(line(lines.length)) - 1]?.length ?? 0) + 1
  return lines.join("\n")
}
/** Workflows of the greatest size, whose analysis costs most. */
export const largeSources: Readonly<Record<string, string>> = {
  calls: body(filled((at) => `await svc.connector.c${at}.a({ x: ${at} });`)),
  branches: body(
    filled((at) => `if (ctx.input.a${at}) { await svc.connector.c.a${at}() } else { svc.db.query(ctx.b) }`)
  ),
  aliases: body(filled((at) => `const a${at} = ${at === 0 ? "svc" : `a${at - 1}`};`)),
  growingAlias: body(`let a = svc;\n${filled((at) => `a = a.b${at % 7};`)}`),
  helpersThatCallTwice: `${filled((at) => `async function f${at}() { await f${at + 1}(); await f${at + 1}(); await svc.state.get("x") }`)}\n${body("await f0()")}`,
  strings: body(`return [${filled((at) => `"<!--${at}",`)}]`),
  numbers: body(`return [${"1,".repeat(255 * 1024)}]`),
  declarations: body(`let ${filled((at) => `v${at},`)} last`),
  scopes: body(filled((at) => `{ let a${at}; var b${at}; function c${at}() {} }`)),
  shortChains: body(filled(() => `a${".b".repeat(200)};`)),
  nestedBlocks: body(filled(() => `${"{".repeat(150)}return 1${"}".repeat(150)}`))
}
