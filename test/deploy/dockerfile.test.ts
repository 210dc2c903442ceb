/** The Dockerfile: what of it a linter would find, and that what it copies and names is there. */
import { assert, describe, it } from "@effect/vitest"
import { execFileSync, execSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { settings } from "../../src/runtime/configuration/SettingTable.js"
import { protocolVersion } from "../../src/runtime/sandbox/runner/Protocol.js"
import { copyOf, imageOf, parseDockerfile, readDockerfile, root, type Stage } from "../support/deploy/Dockerfile.js"

type Parsed = ReturnType<typeof parseDockerfile>

const lastOf = ({ stages }: Parsed): Stage => stages.at(-1) ?? assert.fail("there is no stage")
const isPinned = (image: string) => /^[\w./-]+:\d+\.\d+\.\d+(?:-[\w.-]+)?$|@sha256:[0-9a-f]{64}$/.test(image)
const secretNames = settings.filter(({ secret }) => secret).map(({ name }) => name)
const ignored = fs.readFileSync(path.join(root, ".dockerignore"), "utf8").split("\n")
const sent = new Set(ignored.filter((line) => line.startsWith("!")).map((line) => line.slice(1)))

/** What is wrong with a Dockerfile, in words. */
const problemsOf = (parsed: Parsed): ReadonlyArray<string> => {
  const { args, stages } = parsed
  const names = new Set(stages.flatMap(({ name }) => (name === undefined ? [] : [name])))
  const valueOf = (text: string) => text.replace(/^\$\{(\w+)\}$/, (_, name: string) => args.get(name) ?? "")
  const all = stages.flatMap((stage) => stage.instructions)
  const last = lastOf(parsed)
  const user = last.instructions.findLast(({ name }) => name === "USER")?.text ?? "root"
  const copies = stages.flatMap(({ instructions }) =>
    instructions.filter(({ name }) => name === "COPY" || name === "ADD").map(({ text }) => copyOf(text))
  )
  return [
    ...stages.flatMap(({ base }) =>
      isPinned(valueOf(base)) || names.has(valueOf(base)) ? [] : [`the image ${base} is not pinned`]
    ),
    ...(/^[1-9]\d*:[1-9]\d*$/.test(user) ? [] : [`it runs as ${user}, which is no number of a user other than root`]),
    ...(last.instructions.findIndex(({ name }) => name === "USER") <
    last.instructions.findLastIndex(({ name }) => name === "COPY" || name === "RUN")
      ? ["files are made after USER, and belong to it"]
      : []),
    ...copies.flatMap(({ from, sources }) =>
      from === undefined
        ? sources.flatMap((source) => [
            ...(fs.existsSync(path.join(root, source)) ? [] : [`${source} does not exist`]),
            ...(sent.has(source) ? [] : [`${source} is not in .dockerignore`])
          ])
        : names.has(from)
          ? []
          : [`there is no stage ${from}`]
    ),
    ...last.instructions.flatMap(({ name, text }) =>
      name === "RUN" && /\b(?:npm|npx|apt|apt-get|apk|curl|wget|git)\b/.test(text)
        ? [`the last stage runs ${text}`]
        : []
    ),
    ...last.instructions.flatMap(({ name, text }) => {
      const { from, sources } = copyOf(text)
      if (name !== "COPY") return []
      return from === undefined || sources.some((one) => /node_modules|\/src$/.test(one))
        ? [`the last stage copies ${text}`]
        : []
    }),
    ...all.flatMap(({ name, text }) =>
      (name === "ENV" || name === "ARG") &&
      (secretNames.some((secret) => text.includes(secret)) || /password|secret|token|private/i.test(text))
        ? [`${name} ${text} holds a secret`]
        : []
    ),
    ...all.flatMap(({ name, text }) => (name === "ADD" ? [`ADD ${text} is not COPY`] : []))
  ]
}

describe("the Dockerfile", () => {
  it("runs as a user that is not root, from pinned images, without secrets, without what only the build needs", () => {
    assert.deepStrictEqual(problemsOf(readDockerfile()), [])
  })

  it("is found wrong where it is", () => {
    const text = fs.readFileSync(path.join(root, "Dockerfile"), "utf8")
    const broken: ReadonlyArray<readonly [from: string | RegExp, to: string, problem: RegExp]> = [
      ["node:20.20.2-bookworm-slim", "node:latest", /is not pinned/],
      ["USER 10001:10001", "USER root", /runs as root/],
      ["USER 10001:10001", "", /runs as root/],
      ["COPY src src", "COPY sources sources", /sources does not exist/],
      ["COPY src src", "COPY test test", /test is not in \.dockerignore/],
      ["--from=previous", "--from=former", /no stage former/],
      ["RUN chmod", "RUN npm ci && chmod", /last stage runs npm ci/],
      [
        "COPY --from=build /srv/svc/dist dist",
        "COPY --from=build /srv/svc/node_modules node_modules",
        /last stage copies/
      ],
      ["SVC_HOST=0.0.0.0", "SVC_KEY_PEPPER=x", /holds a secret/],
      ["COPY src src", "ADD src src", /is not COPY/]
    ]
    for (const [from, to, problem] of broken) {
      const changed = text.replace(from, to)
      assert.notStrictEqual(changed, text, String(from))
      assert.match(problemsOf(parseDockerfile(changed)).join("\n"), problem, `${String(from)} → ${to}`)
    }
  })

  it("sets only variables that svc has, and a role by its command", () => {
    const { command, entrypoint, env } = imageOf(readDockerfile())
    const known = new Set(["PATH", ...settings.map(({ name }) => name)])
    assert.deepStrictEqual(
      Object.keys(env).filter((name) => !known.has(name)),
      []
    )
    assert.deepStrictEqual([entrypoint, command], [["svc"], ["start", "--role", "all"]])
  })

  it("sends the engine no more than the build reads: all else is left out", () => {
    assert.strictEqual(
      ignored.find((line) => line !== "" && !line.startsWith("#")),
      "*"
    )
    const copied = readDockerfile().stages.flatMap(({ instructions }) =>
      instructions
        .filter(({ name }) => name === "COPY")
        .flatMap(({ text }) => {
          const { from, sources } = copyOf(text)
          return from === undefined ? sources : []
        })
    )
    assert.sameMembers([...sent], copied)
  })

  it("builds from no more than it copies, and keeps an engine of the image before", () => {
    const place = fs.mkdtempSync(path.join(os.tmpdir(), "svc-build-"))
    const earlier = `v${protocolVersion}/0123456789abcdef`
    try {
      for (const { name, text } of readDockerfile().stages.find((stage) => stage.name === "build")?.instructions ??
        []) {
        if (name === "RUN" && text === "npm ci --ignore-scripts")
          fs.symlinkSync(path.join(root, "node_modules"), path.join(place, "node_modules"))
        else if (name === "RUN") execSync(text, { cwd: place, stdio: "pipe" })
        else if (name === "COPY") {
          const { from, sources, target } = copyOf(text)
          if (from === "previous") fs.mkdirSync(path.join(place, target, earlier), { recursive: true })
          else
            for (const source of sources)
              fs.cpSync(path.join(root, source), path.join(place, target.endsWith("/") ? source : target), {
                recursive: true,
                preserveTimestamps: true
              })
        }
      }
      const help = execFileSync(process.execPath, ["dist/svc.js", "--help"], { cwd: place, encoding: "utf8" })
      assert.include(help, "An open integration platform")
      const engines = fs.readdirSync(path.join(place, "dist", "engines", path.dirname(earlier)))
      assert.include(engines, path.basename(earlier))
      assert.lengthOf(engines, 2, "its own, too")
    } finally {
      fs.rmSync(place, { recursive: true, force: true })
    }
  })

  it("takes the engines of the image before along, from where the last stage puts its own, ahead of the build", () => {
    const { args, stages } = readDockerfile()
    const previous = stages.find(({ name }) => name === "previous")
    assert.strictEqual(previous?.base, "${PREVIOUS_IMAGE}")
    assert.isDefined(stages.find(({ name }) => name === args.get("PREVIOUS_IMAGE")))
    const build = stages.find(({ name }) => name === "build")?.instructions ?? []
    const copied = build.findIndex(({ text }) => text === "--from=previous /srv/svc/dist/engines dist/engines")
    const built = build.findIndex(({ text }) => text === "node scripts/build.mjs")
    assert.isAbove(copied, -1)
    assert.isAbove(built, copied)
    assert.include(
      (stages.at(-1)?.instructions ?? []).map(({ name, text }) => `${name} ${text}`),
      "COPY --from=build /srv/svc/dist dist"
    )
  })
})
