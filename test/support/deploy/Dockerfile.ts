/** Reads the Dockerfile: its stages with their instructions, as far as it uses the language. */
import * as fs from "node:fs"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../../..", import.meta.url))

export interface Instruction {
  readonly name: string
  readonly text: string
}

export interface Stage {
  /** The image or the earlier stage, as it is written. */
  readonly base: string
  readonly name: string | undefined
  readonly instructions: ReadonlyArray<Instruction>
}

export interface Copy {
  /** The stage that it copies from; `undefined`: the build's context. */
  readonly from: string | undefined
  readonly sources: ReadonlyArray<string>
  readonly target: string
}

/** The arguments before the first stage, with their defaults, and the stages. */
export const parseDockerfile = (text: string) => {
  const lines = text
    .split("\n")
    .filter((line) => !/^\s*#/.test(line))
    .join("\n")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
  const args = new Map<string, string>()
  const stages: Array<Stage & { readonly instructions: Array<Instruction> }> = []
  for (const line of lines) {
    const [, name = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    if (name === "FROM") {
      const [, base = "", as] = /^(\S+)(?:\s+AS\s+(\S+))?$/.exec(rest) ?? []
      stages.push({ base, name: as, instructions: [] })
    } else if (stages.length === 0 && name === "ARG") {
      const [, arg = "", value = ""] = /^(\w+)=(.*)$/.exec(rest) ?? []
      args.set(arg, value)
    } else stages.at(-1)?.instructions.push({ name, text: rest })
  }
  return { args, stages }
}

export const copyOf = (text: string): Copy => {
  const [, from, paths = ""] = /^(?:--from=(\S+)\s+)?(.*)$/.exec(text) ?? []
  const words = paths.split(/\s+/)
  return { from, sources: words.slice(0, -1), target: words.at(-1) ?? "" }
}

export const readDockerfile = () => parseDockerfile(fs.readFileSync(`${root}/Dockerfile`, "utf8"))

/** What the image of the last stage runs, and as whom. */
export const imageOf = ({ stages }: ReturnType<typeof parseDockerfile>) => {
  const all = stages.at(-1)?.instructions ?? []
  const textOf = (name: string) => all.findLast((one) => one.name === name)?.text ?? ""
  const words = (name: string): ReadonlyArray<string> => JSON.parse(textOf(name))
  const [uid = "", gid = ""] = textOf("USER").split(":")
  return {
    user: { uid: Number(uid), gid: Number(gid) },
    directory: textOf("WORKDIR"),
    entrypoint: words("ENTRYPOINT"),
    command: words("CMD"),
    volumes: textOf("VOLUME").split(/\s+/),
    env: Object.fromEntries(
      all
        .filter(({ name }) => name === "ENV")
        .flatMap(({ text }) => [...text.matchAll(/(\w+)=(\S+)/g)].map(([, name = "", value = ""]) => [name, value]))
    ) as Readonly<Record<string, string>>
  }
}
