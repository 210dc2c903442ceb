/** The documents name only what exists and stay short, and names in `src` follow the conventions. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { builtInConnectors } from "../src/domain/connectors/index.js"
import { surfaceA, surfaceB, surfaceC, surfaceCStart } from "../src/http/operations/Surfaces.js"

const root = fileURLToPath(new URL("..", import.meta.url))
const read = (file: string) => readFileSync(path.join(root, file), "utf8")

/** Text in back quotes that begins with a folder or a file of the repository. */
const top = readdirSync(root).filter((name) => !["node_modules", ".git", ".svc", "dist", ".env"].includes(name))
const pathsIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/`([^`\s]+)`/g)]
    .map(([, found = ""]) => found)
    .filter((found) => top.some((name) => found === name || found.startsWith(`${name}/`)))

const decisions = readdirSync(path.join(root, "decisions")).map((name) => `decisions/${name}`)

describe("every path exists that is named in", () => {
  for (const [file, least] of [
    ["ARCHITECTURE.md", 45],
    ["README.md", 4],
    ["docs/connectors.md", 2],
    ["docs/connections.md", 2],
    ...decisions.map((one) => [one, 0] as const)
  ] as const) {
    it(file, () => {
      const named = pathsIn(read(file))
      assert.isAtLeast(named.length, least, "the paths are no longer found: has their form changed?")
      assert.deepStrictEqual(
        named.filter((one) => !existsSync(path.join(root, one))),
        []
      )
    })
  }
})

it("README.md lists the built-in connectors by their slugs", () => {
  const [, named = ""] = /\(`GET \/api\/v1\/connectors`: ([^)]*)\)/.exec(read("README.md")) ?? []
  assert.sameMembers(
    named.split(",").map((one) => one.trim()),
    builtInConnectors.map(({ slug }) => slug)
  )
})

const guides = ["docs/connectors.md", "docs/connections.md"]
const routes = [...surfaceA, ...surfaceCStart, ...surfaceC, ...surfaceB]
/** `{id}` in a guide and `:conn` in a route match any segment. */
const shape = (path: string) => path.replace(/\{[^}]*\}|:\w+/g, "*")

describe.each([...guides, "README.md"])("%s names only", (file) => {
  it("requests that the service has routes for", () => {
    const named = [...read(file).matchAll(/\b(GET|POST|PUT|DELETE) (\/api\/v1\/[\w{}/-]+)/g)]
    assert.isNotEmpty(named)
    const known = (method: string, path: string) =>
      routes.some((route) => {
        const [pattern, found] = [shape(route.path).split("/"), shape(path).split("/")]
        return (
          route.method === method &&
          pattern.length === found.length &&
          pattern.every((part, at) => part === "*" || part === found[at])
        )
      })
    assert.deepStrictEqual(
      named.flatMap(([whole, method = "", path = ""]) => (known(method, path) ? [] : [whole])),
      []
    )
  })
})

it("docs/connections.md names only existing errors, with their status", () => {
  const rows = (text: string) =>
    [...text.matchAll(/^\| (\d{3}) \| ([^|]*)\|/gm)].flatMap(([, status = "", codes = ""]) =>
      [...codes.matchAll(/`([A-Z_]+)`/g)].map(([, code = ""]) => `${status} ${code}`)
    )
  const named = rows(read("docs/connections.md"))
  assert.isAtLeast(named.length, 10)
  assert.includeMembers(rows(read("docs/errors.md")), named)
})

const sources = readdirSync(path.join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => `src/${name}`)

it("no folder of src has more than 25 files, but the catalogue of connectors", () => {
  const counts = new Map<string, number>()
  for (const entry of readdirSync("src", { recursive: true, withFileTypes: true }))
    if (entry.isFile()) counts.set(entry.parentPath, (counts.get(entry.parentPath) ?? 0) + 1)
  counts.delete("src/domain/connectors")
  assert.isAbove(counts.size, 50)
  const large = [...counts].filter(([, count]) => count > 25)
  assert.deepStrictEqual(large, [])
})

describe("comments", () => {
  /** The scripts of guests: their text, comments included, tells which engine replays a run. */
  const scripts = /String\.raw`(?:[^`\\]|\\[\s\S])*`/g
  /** The text of block comments and of lines that are one, without quoted code and addresses. */
  const commentsIn = (text: string): ReadonlyArray<string> =>
    [...text.replaceAll(scripts, "").matchAll(/\/\*\*[\s\S]*?\*\/|^\s*\/\/ .*$/gm)].map(([comment]) =>
      comment.replaceAll(/`[^`]*`|https?:\S+/g, "")
    )

  it("quote names of code", () => {
    const bare = sources.flatMap((file) =>
      commentsIn(read(file)).flatMap((comment) =>
        [...comment.matchAll(/\b[a-z]+[A-Z][A-Za-z]*\b/g)].map(([name]) => `${file}: ${name}`)
      )
    )
    assert.deepStrictEqual(bare, [])
  })
})

it("two services never share a key, by which the layers would be mixed up", () => {
  const keys = sources.flatMap((file) =>
    [...read(file).matchAll(/\b(?:Tag|Service<\w+>\(\))\(\s*"([^"]+)"/g)].map(([, key = ""]) => key)
  )
  assert.isAbove(keys.length, 100)
  assert.deepStrictEqual(
    keys.filter((key, at) => keys.indexOf(key) !== at),
    []
  )
})

describe("a lease on stored work", () => {
  /** Files that may write one, with the reason. */
  const allowed = [
    "src/runtime/postgres/LeasedWork.ts", // the statements
    "src/runtime/postgres/WorkKinds.ts", // kinds whose columns have other names
    "src/runtime/postgres/run/StartQueue.ts", // the pick is `svc_take_queued`, and what it took is renewed by its holder
    "src/runtime/postgres/journal/EventRow.ts", // the flush puts an event into the queue with a lease
    "src/runtime/postgres/run/Runs.ts" // one look-up by an index tells whether the queue has work
  ]
  it("is taken by the statements of `LeasedWork.ts`, for kinds that are data", () => {
    const lease = /SKIP\s+LOCKED|leased_until|claimed_until/i
    assert.sameMembers(
      sources.filter((file) => lease.test(read(file))),
      allowed
    )
    assert.deepStrictEqual(
      sources.filter((file) => /SKIP\s+LOCKED/i.test(read(file))),
      [allowed[0]]
    )
  })
})

describe("the table of what stops or starves a service", () => {
  const rows = read("test/flow/attacks.test.ts")
    .split("\n")
    .flatMap((line) => {
      const [, vector = "", file = "", words = ""] = /^ \* \| (.+?) \| (test\/\S+) \| (.+) \|$/.exec(line) ?? []
      return vector === "" ? [] : [[vector, file, words] as const]
    })

  it("has rows", () => assert.isAtLeast(rows.length, 36))
  it.each(rows)("names for %s a test that exists: %s", (_, file, words) => {
    const text = file === "test/flow/attacks.test.ts" ? read(file).split(" */\n").slice(1).join("") : read(file)
    assert.include(text, words)
  })
})

describe("a regular expression that is built from data", () => {
  /** Files that may build one: from constants, or from a tenant's data in a computing worker. */
  const allowed = new Set([
    "src/domain/Ids.ts",
    "src/domain/expression/Pattern.ts",
    "src/runtime/computing/worker/Table.ts"
  ])
  it("is built in few files, none of which runs a tenant's expression in the main process", () => {
    const made = sources.filter((file) => /\bRegExp\(/.test(read(file)))
    assert.sameMembers(made, [...allowed])
  })
})

describe("the fence of runs", () => {
  const fence = "src/runtime/postgres/journal/Fence.ts"
  const comparisons = [
    /\bepoch"?\)?\s*(?:=(?!>)|!=|<|>|\b(?:IN|BETWEEN|IS (?:NOT )?DISTINCT)\b)/i,
    /[=<>]\s*(?:\$\{)?\w+\.epoch\b/,
    /\bUSING\s*\([^)]*\bepoch\b/i
  ]
  /** A check whether a change has an epoch does not count as a comparison. */
  const comparesEpochs = (text: string) => {
    const rest = text.replaceAll(/\bepoch [!=]== null/g, "")
    return comparisons.some((comparison) => comparison.test(rest))
  }

  it("is the only place of the runtime that compares or raises an epoch", () => {
    assert.isTrue(comparesEpochs(read(fence)))
    for (const own of [
      "WHERE id = ${id} AND epoch = ${run.epoch}",
      "JOIN held ON held.epoch = ch.epoch",
      "WHERE (id, epoch) IN (SELECT 1, 2)",
      "JOIN held USING (id, epoch)",
      "SET epoch = epoch + 1",
      "if (row.epoch !== run.epoch) return",
      "WHERE $2 = r.epoch"
    ])
      assert.isTrue(comparesEpochs(own), own)
    const others = sources.filter((file) => file.startsWith("src/runtime/") && file !== fence)
    assert.deepStrictEqual(
      others.filter((file) => comparesEpochs(read(file))),
      []
    )
  })
})

describe("the documents stay short", () => {
  const lines = (file: string) => read(file).trimEnd().split("\n").length
  for (const file of guides) it(`${file} has at most 400 lines`, () => assert.isAtMost(lines(file), 400))
  it("ARCHITECTURE.md has at most 150 lines", () => assert.isAtMost(lines("ARCHITECTURE.md"), 150))
  for (const file of decisions) it(`${file} has at most 40 lines`, () => assert.isAtMost(lines(file), 40))
})

describe("a decision", () => {
  it("has a number of its own, in order", () => {
    const numbers = decisions.map((file) => Number(path.basename(file).slice(0, 4))).sort((a, b) => a - b)
    assert.deepStrictEqual(
      numbers,
      numbers.map((_, i) => i + 1)
    )
  })
  for (const file of decisions) {
    it(`says context, options, decision and consequences: ${file}`, () => {
      const headings = [...read(file).matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
      assert.deepStrictEqual(headings, ["Context", "Options", "Decision", "Consequences"])
    })
  }
})

describe("names that src exports", () => {
  const files = readdirSync(path.join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => `src/${name}`)
  const declaration = /^export (?:declare )?(?:abstract )?(type|interface|class|const|function) (\w+)/gm
  const exported = files.flatMap((file) =>
    [...read(file).matchAll(declaration)].map(([, kind = "", name = ""]) => ({ file, kind, name }))
  )
  const isType = (kind: string) => kind === "type" || kind === "interface" || kind === "class"

  it("name one type each", () => {
    const places = new Map<string, Set<string>>()
    for (const { file, kind, name } of exported)
      if (isType(kind)) places.set(name, (places.get(name) ?? new Set()).add(file))
    assert.deepStrictEqual(
      [...places].flatMap(([name, found]) => (found.size > 1 ? [`${name}: ${[...found].join(", ")}`] : [])),
      []
    )
  })

  it("are nouns and verbs, neither adverbs nor participles nor pronouns", () => {
    const words = "known made held taken told plainly lacking whole first fresh asked given found seen done gone kept"
    const forbidden = new Set(`${words} rest own none most least now then later before after beside`.split(" "))
    /** Exceptions: nouns, and words of JSON Schema and of the plans. */
    const allowed = new Set(["setting", "sharding", "redacted", "required", "unlimited"])
    // The catalogue of connectors has names of what it describes: `listing`, `billing`.
    const found = exported
      .filter(({ file, kind }) => !isType(kind) && !file.startsWith("src/domain/connectors/"))
      .filter(({ name }) => !allowed.has(name) && (forbidden.has(name) || /^[a-z]+(ed|ing)$/.test(name)))
    assert.deepStrictEqual(found, [])
  })

  it("are, with tables and folders, what the glossary says", () => {
    const [, glossary = ""] = /^## Glossary\n([\s\S]*?)^## /m.exec(read("ARCHITECTURE.md")) ?? []
    const rows = glossary.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| word"))
    assert.isAtLeast(rows.length, 24)
    const migrations = readdirSync(path.join(root, "migrations"))
      .map((file) => read(`migrations/${file}`))
      .join("\n")
    const isTable = (name: string) => new RegExp(`(?:CREATE TABLE|RENAME TO) ${name}\\b`).test(migrations)
    const isThere = (name: string) =>
      name.startsWith("src/")
        ? existsSync(path.join(root, name))
        : isTable(name) || exported.some((one) => one.name === name)
    for (const row of rows) {
      const [, word = "", , carriers = ""] = row.split("|")
      const names = [...carriers.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name)
      assert.isNotEmpty(names, `${word} has no table, type or folder`)
      for (const name of names) assert.isTrue(isThere(name), `${word}: there is no ${name}`)
    }
  })
})

it("modules take services by their tags: none are handed on as a bag", () => {
  // The request of a use case, on whose behalf a request acts, and what a rerun takes over are data.
  const bag = /\b(?:interface|type) (?!CallContext|CustomerContext|StartContext)\w*(?:Context|Services|Lookups)\b/
  const twoServices = /\{(?:[^{}]*?: (?:\w+\["Type"\]|Effect\.Effect\.Success<[^{}\n]*>)[,;]?\n){2}[^{}]*\}/
  const files = readdirSync(path.join(root, "src"), { recursive: true, encoding: "utf8" })
  const sources = files.filter((name) => name.endsWith(".ts")).map((name) => ({ name, text: read(`src/${name}`) }))
  assert.deepStrictEqual(
    sources.flatMap(({ name, text }) => (bag.test(text) || twoServices.test(text) ? [name] : [])),
    []
  )
})

it("only authentication and the audit trail tell the kinds of callers apart", () => {
  const mayKnow = (file: string) => file.startsWith("src/http/auth/") || file.startsWith("src/domain/access/Caller")
  const apart = /\b(?:caller|principal)\??\.(?:key\b|kind\s*[!=]==?)|\bkind\s*[!=]==?\s*"(?:person|embed|oauth)"/i
  const found = sources.filter((file) => !mayKnow(file) && apart.test(read(file)))
  assert.deepStrictEqual(found, [])
  assert.isTrue(sources.some(mayKnow), "the paths are no longer found: have the files moved?")
})

it("the rooms of src/runtime depend on each other in one direction", () => {
  const rooms = new Map<string, Set<string>>()
  for (const file of readdirSync(path.join(root, "src/runtime"), { recursive: true, encoding: "utf8" })) {
    const [room = "", ...rest] = file.split("/")
    if (rest.length === 0 || !file.endsWith(".ts")) continue
    const needs = rooms.get(room) ?? new Set()
    rooms.set(room, needs)
    for (const [, target = ""] of read(`src/runtime/${file}`).matchAll(/(?:from |import\()"(\.[^"]+)"/g)) {
      const [top, other] = path.posix
        .relative("src/runtime", path.posix.join("src/runtime", path.posix.dirname(file), target))
        .split("/")
      if (top === ".." || other === undefined || top === undefined || top === room) continue
      needs.add(top)
    }
  }
  assert.isAtLeast(rooms.size, 15)
  // Removes rooms that depend on no other until none can be removed: the rest has a cycle.
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false
    for (const [room, needs] of rooms)
      if ([...needs].every((other) => !rooms.has(other))) isSmaller = rooms.delete(room)
  }
  assert.deepStrictEqual(
    [...rooms].map(([room, needs]) => `${room} → ${[...needs].join(", ")}`),
    []
  )
})

it("only src/runtime/cluster assumes that the node is alone", () => {
  const assumes = (file: string) => /\bnodes: (?:\(\) => )?\d|\bowns: \(\) => true|\bisAlone: true/.test(read(file))
  assert.deepStrictEqual(sources.filter(assumes), ["src/runtime/cluster/SingleNode.ts"])
})

describe("a function or type that another folder uses", () => {
  // Contracts and documents of surfaces have their words in annotations; the name of an id says all there is to say.
  const exempt = /^src\/(?:http\/(?:resource|tenant|documents)|domain\/connectors)\/|\/Ids\.ts$/
  const imports = /(?:import|export)\s+(?:type\s+)?(?:\{([^}]*)\}|\* as (\w+))\s+from\s+"(\.[^"]+)"/g
  const declarations = /^export (?:abstract )?(type|interface|class|const|(?:async )?function) (\w+)(.*\n.*)$/gm
  const isFunction = /^\s*(?::[^=]*)?=\s*(?:async )?(?:<.*>\s*)?\(|^:\s*\(|=>\s*\n|=\s*Effect\.fn/

  /** The names of each file that files of other folders import. */
  const usedElsewhere = () => {
    const used = new Map<string, Set<string>>()
    for (const file of sources) {
      const text = read(file)
      for (const [, names = "", namespace, from = ""] of text.matchAll(imports)) {
        const target = path.posix.join(path.posix.dirname(file), from).replace(/\.js$/, ".ts")
        if (path.posix.dirname(target) === path.posix.dirname(file)) continue
        const found =
          namespace === undefined
            ? names.split(",").map((name) => /^\s*(?:type )?(\w*)/.exec(name)?.[1] ?? "")
            : [...text.matchAll(new RegExp(`\\b${namespace}\\.(\\w+)`, "g"))].map(([, name = ""]) => name)
        used.set(target, new Set([...(used.get(target) ?? []), ...found]))
      }
    }
    return used
  }

  /** A file's header speaks for the noun that the file is named after, and for its layer; a schema's comment for its type. */
  const isDocumented = (file: string, text: string, name: string, at: number): boolean => {
    if (/\*\/\s*(?:\/\/ oxlint.*\s*)?$/.test(text.slice(0, at))) return true
    if (name === "layer" || name === path.posix.basename(file, ".ts")) return text.startsWith("/**")
    const [, value = ""] = new RegExp(`^export type ${name} = \\(?typeof (\\w+)`, "m").exec(text) ?? []
    return value !== "" && new RegExp(`\\*/\\s*(?:export )?const ${value}\\b`).test(text)
  }

  it("has a docstring", () => {
    const used = usedElsewhere()
    let count = 0
    const bare = sources
      .filter((file) => !exempt.test(file))
      .flatMap((file) => {
        const text = read(file)
        return [...text.matchAll(declarations)].flatMap(({ 1: kind, 2: name = "", 3: rest = "", index }) => {
          if (used.get(file)?.has(name) !== true || (kind === "const" && !isFunction.test(rest))) return []
          count++
          return isDocumented(file, text, name, index) ? [] : [`${file}: ${name}`]
        })
      })
    assert.deepStrictEqual(bare, [])
    assert.isAbove(count, 1_000)
  })
})
