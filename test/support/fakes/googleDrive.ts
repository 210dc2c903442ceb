/**
 * Google Drive's API v3: four members of a file unless others are asked for, page tokens, queries, Google documents that are
 * exported and not downloaded, limits as 403, a file has one folder.
 */
import { type Fake, type FakeRequest, type Reply, startFake } from "./Fake.js"

interface DriveFile {
  readonly [member: string]: unknown
  readonly id: string
  name: string
  mimeType: string
  parents: ReadonlyArray<string>
  modifiedTime: string
  readonly createdTime: string
  trashed: boolean
}

const googleDocument = "application/vnd.google-apps.document"
const folder = "application/vnd.google-apps.folder"
const ada = { displayName: "Ada Byron", emailAddress: "ada@example.com", permissionId: "17", me: true }

const refused = (code: number, reason: string, message: string): Reply => ({
  status: code,
  json: { error: { code, message, errors: [{ domain: "global", reason, message }] } }
})
const notFound = (id: string | undefined) => refused(404, "notFound", `File not found: ${id ?? ""}.`)

/** The members that a mask such as `nextPageToken,files(id,name)` names below `at`. */
const masked = (mask: string | null, at: string | null, byDefault: string): ReadonlyArray<string> => {
  const inner = at === null ? mask : new RegExp(`${at}\\(([^)]*)\\)`).exec(mask ?? "")?.[1]
  return (inner ?? byDefault).split(",").filter((name) => name !== "")
}

const shown = (file: DriveFile, names: ReadonlyArray<string>) =>
  Object.fromEntries(Object.entries(file).filter(([name]) => names.includes("*") || names.includes(name)))

/** Whether a file meets a query: terms with `and` between them. */
const meets = (file: DriveFile, query: string): boolean =>
  query === "" ||
  query.split(" and ").every((term) => {
    const [, within] = /^'((?:[^'\\]|\\.)*)' in parents$/.exec(term) ?? []
    if (within !== undefined) return file.parents.includes(within)
    const [, name = "", operator = "", quoted, plain] =
      /^(\w+) (=|!=|>|<|contains) (?:'((?:[^'\\]|\\.)*)'|(true|false))$/.exec(term) ?? []
    const value = String(file[name] ?? "")
    const wanted = (quoted ?? plain ?? "").replace(/\\(.)/g, "$1")
    if (name === "") throw new Error(`the fake cannot read the query ${term}`)
    switch (operator) {
      case "=":
        return value === wanted
      case "!=":
        return value !== wanted
      case ">":
        return value > wanted
      case "<":
        return value < wanted
      default:
        return value.includes(wanted)
    }
  })

export interface DriveFake extends Fake {
  readonly stored: () => ReadonlyArray<DriveFile>
  readonly add: (file: Partial<DriveFile>, content?: string) => DriveFile
}

export const googleDriveFake = async (): Promise<DriveFake> => {
  const files = new Map<string, DriveFile>()
  const contents = new Map<string, string>()
  let clock = Date.UTC(2026, 9, 1)
  let made = 0
  const now = () => new Date((clock += 60_000)).toISOString()

  const add: DriveFake["add"] = (given, content = "") => {
    const at = now()
    const id = `1Kx7fAqBcDeF_${++made}`
    const isGoogle = (given.mimeType ?? "").startsWith("application/vnd.google-apps.")
    const file: DriveFile = {
      kind: "drive#file",
      id,
      name: "Untitled",
      mimeType: "application/octet-stream",
      parents: ["root"],
      createdTime: at,
      modifiedTime: at,
      trashed: false,
      version: "1",
      webViewLink: `https://docs.google.com/document/d/${id}/edit`,
      owners: [ada],
      lastModifyingUser: ada,
      // Google documents have no size.
      ...(isGoogle ? {} : { size: String(content.length) }),
      ...given
    }
    files.set(id, file)
    contents.set(id, content)
    return file
  }
  const change = (file: DriveFile, members: Record<string, unknown>) => {
    const { properties, ...others } = members
    const merged = { ...objectIn(file["properties"]), ...objectIn(properties) }
    const kept = Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null))
    Object.assign(file, others, properties === undefined ? {} : { properties: kept }, { modifiedTime: now() })
  }
  const found = (asked: FakeRequest) => files.get(asked.params["id"] ?? "")
  const one = (asked: FakeRequest, file: DriveFile | undefined): Reply =>
    file === undefined
      ? notFound(asked.params["id"])
      : { json: shown(file, masked(asked.query.get("fields"), null, "kind,id,name,mimeType")) }

  const fake = await startFake({
    guard: (asked) =>
      asked.headers.authorization === "Bearer ya29.fake" ? null : refused(401, "authError", "Invalid Credentials"),
    routes: {
      "GET /drive/v3/about": (asked) =>
        asked.query.has("fields")
          ? { json: { user: ada } }
          : refused(400, "required", "The 'fields' parameter is required for this method."),
      "GET /drive/v3/files": (asked) => {
        const matching = [...files.values()].filter((file) => meets(file, asked.query.get("q") ?? ""))
        const from = Number((asked.query.get("pageToken") ?? "~0").slice(1))
        const size = Number(asked.query.get("pageSize") ?? 100)
        const names = masked(asked.query.get("fields"), "files", "kind,id,name,mimeType")
        return {
          json: {
            incompleteSearch: false,
            files: matching.slice(from, from + size).map((file) => shown(file, names)),
            ...(from + size < matching.length ? { nextPageToken: `~${from + size}` } : {})
          }
        }
      },
      "POST /drive/v3/files": (asked) => one(asked, add(asked.json())),
      "GET /drive/v3/files/:id": (asked) => {
        const file = found(asked)
        if (asked.query.get("alt") !== "media" || file === undefined) return one(asked, file)
        return file.mimeType.startsWith("application/vnd.google-apps.")
          ? refused(403, "fileNotDownloadable", "Only files with binary content can be downloaded. Use Export.")
          : { text: contents.get(file.id) ?? "" }
      },
      "PATCH /drive/v3/files/:id": (asked) => {
        const file = found(asked)
        if (file === undefined) return notFound(asked.params["id"])
        if ("parents" in asked.json())
          return refused(403, "fieldNotWritable", "The parents field is not directly writable in update requests.")
        const [added, removed] = [asked.query.get("addParents"), asked.query.get("removeParents")]
        if (added !== null && removed === null)
          return refused(403, "cannotAddParent", "Increasing the number of parents is not allowed")
        if (added !== null) file.parents = [added]
        change(file, asked.json())
        return one(asked, file)
      },
      "PATCH /upload/drive/v3/files/:id": (asked) => {
        const file = found(asked)
        if (file === undefined) return notFound(asked.params["id"])
        contents.set(file.id, asked.body)
        change(file, file.mimeType === googleDocument ? {} : { size: String(asked.body.length) })
        return one(asked, file)
      },
      "DELETE /drive/v3/files/:id": (asked) =>
        files.delete(asked.params["id"] ?? "") ? { status: 204 } : notFound(asked.params["id"]),
      "POST /drive/v3/files/:id/copy": (asked) => {
        const file = found(asked)
        if (file === undefined) return notFound(asked.params["id"])
        const { id: _, ...copied } = file
        return one(asked, add({ ...copied, name: `Copy of ${file.name}`, ...asked.json() }))
      },
      "GET /drive/v3/files/:id/export": (asked) => {
        const file = found(asked)
        const type = asked.query.get("mimeType")
        if (file === undefined) return notFound(asked.params["id"])
        if (file.mimeType !== googleDocument)
          return refused(403, "fileNotExportable", "Export only supports Docs Editors files.")
        if (type === null || !["text/markdown", "text/html", "text/plain"].includes(type))
          return refused(400, "badRequest", "The requested conversion is not supported.")
        const text = contents.get(file.id) ?? ""
        // A text begins with a byte order mark.
        return { text: type === "text/plain" ? `\uFEFF${text}` : text, headers: { "content-type": type } }
      },
      "GET /drive/v3/files/:id/permissions": () => ({
        json: { permissions: [{ id: "17", type: "user", role: "owner", emailAddress: "ada@example.com" }] }
      }),
      "POST /drive/v3/files/:id/permissions": (asked) => ({ json: { id: "18", ...asked.json() } }),
      "DELETE /drive/v3/files/:id/permissions/:permission": () => ({ status: 204 })
    }
  })
  add({ name: "Folder", mimeType: folder })
  return { ...fake, add, stored: () => [...files.values()] }
}

const objectIn = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? Object.fromEntries(Object.entries(value)) : {}
