import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { googleDrive as builtIn } from "../../../src/domain/connectors/google-drive/GoogleDrive.js"
import type { Json } from "../../../src/domain/Json.js"
import { type Caller, callEveryAction, hasItems, hasMembers, makeCaller } from "../../support/ConnectorCaller.js"
import { makeEntityCaller } from "../../support/EntityCaller.js"
import { type DriveFake, googleDriveFake } from "../../support/fakes/googleDrive.js"

const drive = builtIn.definition()
const googleDocument = "application/vnd.google-apps.document"

let api: DriveFake
let ada: Caller

const caller = (accessToken: string) => makeCaller(drive, api.origin, { method: "oauth", credential: { accessToken } })

beforeAll(async () => {
  api = await googleDriveFake()
  ada = caller("ya29.fake")
})
afterAll(() => api.close())

const isNothing = (result: Json) => assert.isNull(result)

describe("Google Drive", () => {
  it("answers every action", () => {
    const document = api.add({ name: "Plan", mimeType: googleDocument }, "# Plan\n")
    const picture = api.add({ name: "a.png", mimeType: "image/png" }, "Hello!")
    const gone = api.add({ name: "Gone" })
    const fileId = document.id
    return callEveryAction(drive, ada, {
      getAbout: [{}, hasMembers({ user: { ...objectAda } })],
      listPermissions: [{ fileId }, hasItems("permissions", 1)],
      createPermission: [
        { fileId, type: "user", role: "reader", emailAddress: "bob@example.com" },
        hasMembers({ id: "18", role: "reader" })
      ],
      deletePermission: [{ fileId, permissionId: "18" }, isNothing],
      listFiles: [{ q: "name = 'Plan'" }, hasItems("files", 1)],
      getFile: [{ fileId }, hasMembers({ name: "Plan", parents: ["root"] })],
      createFile: [{ name: "New", mimeType: googleDocument, parents: ["x"] }, hasMembers({ parents: ["x"] })],
      updateFile: [
        { fileId, name: "Plan B", addParents: "y", removeParents: "root" },
        hasMembers({ name: "Plan B", parents: ["y"] })
      ],
      copyFile: [{ fileId }, hasMembers({ name: "Copy of Plan B" })],
      deleteFile: [{ fileId: gone.id }, isNothing],
      exportContent: [{ fileId }, hasMembers({ fileId, format: "text/markdown", content: "# Plan\n" })],
      downloadFile: [{ fileId: picture.id }, hasMembers({ base64: "SGVsbG8h" })],
      uploadContent: [{ fileId, format: "text/html", content: "<p>Hi</p>" }, hasMembers({ name: "Plan B" })]
    })
  })

  it("follows Google's page tokens, and keeps a file's id in its place", async () => {
    for (let at = 0; at < 5; at += 1) api.add({ name: `Page ${at}` })
    const pages = await ada.pages("listFiles", { q: "name contains 'Page'", pageSize: 2 })
    assert.deepStrictEqual(
      pages.map((page) => page.length),
      [2, 2, 1]
    )
    assert.deepInclude(await ada.failure("getFile", { fileId: "a/b?c" }), { status: 404, code: "notFound" })
  })

  it("takes the 403 of a limit for what it is, and other refusals for theirs", async () => {
    const limit = {
      code: 403,
      message: "Slow down",
      errors: [{ domain: "usageLimits", reason: "userRateLimitExceeded" }]
    }
    api.plan({ status: 403, json: { error: limit } })
    assert.deepInclude(await ada.failure("getAbout"), { category: "transient", code: "userRateLimitExceeded" })
    const picture = api.add({ name: "b.png", mimeType: "image/png" })
    assert.deepInclude(await ada.failure("exportContent", { fileId: picture.id }), {
      category: "provider",
      status: 403,
      code: "fileNotExportable"
    })
    assert.deepInclude(await caller("no").failure("getAbout"), { category: "auth", message: "Invalid Credentials" })
  })
})

const objectAda = { displayName: "Ada Byron", emailAddress: "ada@example.com", permissionId: "17", me: true }

describe("Google Drive's records as common ones", () => {
  const documents = () => makeEntityCaller(drive, ada, "file")
  const contents = () => makeEntityCaller(drive, ada, "content")

  it("are documents, created, changed and put into the bin", async () => {
    const made = await documents().create({
      title: "Offer",
      mimeType: googleDocument,
      folderId: "offers",
      customFields: { deal: "17" }
    })
    assert.deepInclude(made.record, {
      title: "Offer",
      mimeType: googleDocument,
      folderId: "offers",
      customFields: { deal: "17" },
      createdBy: "ada@example.com",
      remoteWasDeleted: false
    })
    const id = String(made.record["id"])
    const changed = await documents().update(id, { title: "Offer 2", customFields: { deal: null, state: "sent" } })
    assert.deepInclude(changed.record, { title: "Offer 2", customFields: { state: "sent" }, folderId: "offers" })
    await documents().remove(id)
    assert.deepInclude((await documents().get(id)).record, { title: "Offer 2", remoteWasDeleted: true })
  })

  it("are listed without folders and without what is in the bin, also those changed after a time", async () => {
    const all = await documents().list()
    const expected = api.stored().filter(({ mimeType, trashed }) => !trashed && !mimeType.endsWith(".folder"))
    assert.sameMembers(
      all.map(({ record }) => record["id"]),
      expected.map(({ id }) => id)
    )
    const times = expected.map(({ modifiedTime }) => modifiedTime).sort()
    const last = api.add({ name: "Last", size: "12" })
    const changed = await documents().list({ modifiedAfter: times.at(-1) ?? "" })
    assert.deepStrictEqual(
      changed.map(({ record }) => [record["title"], record["size"], record["url"]]),
      [["Last", 12, last["webViewLink"]]]
    )
    assert.isEmpty(await documents().list({ createdAfter: last.createdTime }))
  })

  it("have contents in Markdown, HTML and text", async () => {
    const { id } = api.add({ name: "Notes", mimeType: googleDocument })
    const made = await contents().create({ documentId: id, format: "html", content: "<h1>Hi</h1>" })
    assert.deepStrictEqual(made.record, { id, documentId: id, format: "html", content: "<h1>Hi</h1>" })
    const changed = await contents().update(id, { content: "# Ho", format: "markdown" })
    assert.deepInclude(changed.record, { format: "markdown", content: "# Ho" })
    assert.deepInclude((await contents().get(id)).record, { format: "markdown", content: "# Ho" })
    const plain = await contents().update(id, { content: "Plain", format: "text" })
    assert.strictEqual(plain.record["content"], "Plain")
    assert.strictEqual(api.asked.at(-2)?.headers["content-type"], "text/plain; charset=UTF-8")
  })
})
