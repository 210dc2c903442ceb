/** Builds requests to Google Drive. Files of shared drives are reached like the account's own. */
import type { JsonObject } from "../../Json.js"
import {
  type ActionManifest,
  args,
  flag,
  fromArgs,
  list,
  oneOf,
  record,
  text,
  texts,
  time,
  upTo,
  withDescription
} from "../SchemaShorthands.js"

/** Drive answers four members of a file unless others are asked for. */
const fileFields =
  "id,name,mimeType,description,parents,size,createdTime,modifiedTime,trashed,webViewLink,owners,lastModifyingUser,properties,version"

export const driveResponse: NonNullable<ActionManifest["response"]> = {
  errorMessage: "$.error.message",
  errorCode: "$.error.errors[0].reason",
  authCodes: ["authError"],
  // Drive answers most of its limits with 403.
  transientCodes: ["rateLimitExceeded", "userRateLimitExceeded", "sharingRateLimitExceeded", "backendError"]
}

const user = record({ displayName: text, emailAddress: text, permissionId: text, me: flag })

const file: JsonObject = record(
  {
    id: text,
    name: text,
    mimeType: text,
    description: text,
    parents: texts,
    size: text,
    createdTime: time,
    modifiedTime: time,
    trashed: flag,
    webViewLink: text,
    owners: list(user),
    lastModifyingUser: user,
    properties: record(),
    version: text
  },
  "id"
)

const plan: JsonObject = {
  id: "1Kx7fAqBcDeFgHiJkLmNoPqRsTuVwXyZ0",
  name: "Plan",
  mimeType: "application/vnd.google-apps.document",
  parents: ["0APqRsTuVwXyZ0Uk9PVA"],
  createdTime: "2026-10-01T09:00:00.000Z",
  modifiedTime: "2026-11-02T10:30:00.000Z",
  trashed: false,
  webViewLink: "https://docs.google.com/document/d/1Kx7fAqBcDeFgHiJkLmNoPqRsTuVwXyZ0/edit",
  owners: [{ displayName: "Ada Byron", emailAddress: "ada@example.com", permissionId: "17", me: true }],
  lastModifyingUser: { displayName: "Ada Byron", emailAddress: "ada@example.com", permissionId: "17", me: true },
  version: "7"
}

const fields = withDescription("The members of the answer: id,name,parents", text)
const fileId: JsonObject = { type: "string", pattern: "^[A-Za-z0-9_-]+$" }
const everywhere = { supportsAllDrives: "true" }
const answered = { fields: `{{args.fields ?? '${fileFields}'}}` }
/** A null removes a property. */
const properties: JsonObject = { type: "object", additionalProperties: { type: ["string", "null"] } }
const writable = {
  name: text,
  mimeType: text,
  description: { type: ["string", "null"] },
  properties,
  appProperties: properties,
  starred: flag,
  writersCanShare: flag
}

export const fileActions: ReadonlyArray<ActionManifest> = [
  {
    name: "listFiles",
    title: "List or search files and folders",
    description: "q: a query such as trashed = false and modifiedTime > '2026-11-01T00:00:00Z'.",
    request: {
      method: "GET",
      path: "/files",
      query: {
        ...everywhere,
        includeItemsFromAllDrives: "true",
        pageSize: "{{args.pageSize ?? 100}}",
        fields: `{{args.fields ?? 'nextPageToken,incompleteSearch,files(${fileFields})'}}`,
        ...fromArgs("q", "pageToken", "orderBy", "corpora", "driveId", "spaces")
      }
    },
    response: driveResponse,
    pagination: { type: "cursor", items: "$.files", next: "$.nextPageToken", param: "pageToken" },
    inputSchema: args({
      q: text,
      pageSize: upTo(1_000),
      pageToken: text,
      orderBy: text,
      fields: withDescription("The members of the answer: nextPageToken,files(id,name)", text),
      corpora: oneOf("user", "domain", "drive", "allDrives"),
      driveId: text,
      spaces: oneOf("drive", "appDataFolder")
    }),
    outputSchema: record({ files: list(file), nextPageToken: text, incompleteSearch: flag }, "files"),
    mocks: [{ name: "one", output: { files: [plan], incompleteSearch: false } }]
  },
  {
    name: "getFile",
    title: "Get a file's metadata",
    request: { method: "GET", path: "/files/{{args.fileId}}", query: { ...everywhere, ...answered } },
    response: driveResponse,
    inputSchema: args({ fileId, fields }, "fileId"),
    outputSchema: file,
    mocks: [{ name: "one", output: plan }]
  },
  {
    name: "createFile",
    title: "Create a file or a folder, without content",
    description: "mimeType: application/vnd.google-apps.document or .folder, for example.",
    request: {
      method: "POST",
      path: "/files",
      query: { ...everywhere, ...answered },
      body: fromArgs(...Object.keys(writable), "parents")
    },
    response: driveResponse,
    inputSchema: args({ ...writable, parents: texts, fields }, "name"),
    outputSchema: file,
    mocks: [{ name: "one", output: plan }]
  },
  {
    name: "updateFile",
    title: "Change a file's metadata, move it or put it into the bin",
    description: "A file has one folder: to move it, name the new one in addParents and the old one in removeParents.",
    request: {
      method: "PATCH",
      path: "/files/{{args.fileId}}",
      query: { ...everywhere, ...answered, ...fromArgs("addParents", "removeParents") },
      body: { ...fromArgs(...Object.keys(writable), "trashed", "parents") }
    },
    response: driveResponse,
    inputSchema: args(
      {
        fileId,
        ...writable,
        trashed: flag,
        parents: withDescription("Refused by Google: use addParents and removeParents", texts),
        addParents: text,
        removeParents: text,
        fields
      },
      "fileId"
    ),
    outputSchema: file,
    mocks: [{ name: "one", output: plan }]
  },
  {
    name: "copyFile",
    title: "Copy a file",
    request: {
      method: "POST",
      path: "/files/{{args.fileId}}/copy",
      query: { ...everywhere, ...answered },
      body: fromArgs("name", "parents", "mimeType")
    },
    response: driveResponse,
    inputSchema: args({ fileId, name: text, parents: texts, mimeType: text, fields }, "fileId"),
    outputSchema: file,
    mocks: [{ name: "one", output: { ...plan, name: "Copy of Plan" } }]
  },
  {
    name: "deleteFile",
    title: "Delete a file forever",
    request: { method: "DELETE", path: "/files/{{args.fileId}}", query: everywhere },
    response: driveResponse,
    inputSchema: args({ fileId }, "fileId"),
    outputSchema: { type: "null" },
    mocks: [{ name: "deleted", output: null }]
  }
]

// --- Contents ---

/** A content with the file that it belongs to. */
const content = record({ fileId: text, format: text, content: { type: ["string", "null"] } }, "fileId", "format")
const written: JsonObject = { fileId: plan["id"] ?? null, format: "text/markdown", content: "# Plan\n" }
const format = withDescription("A media type: text/markdown, text/html or text/plain", text)

export const contentActions: ReadonlyArray<ActionManifest> = [
  {
    name: "exportContent",
    title: "Get a Google document's content as text, HTML or Markdown",
    request: {
      method: "GET",
      path: "/files/{{args.fileId}}/export",
      query: { mimeType: "{{args.format ?? 'text/markdown'}}" }
    },
    response: {
      ...driveResponse,
      type: "text",
      map: { fileId: "{{args.fileId}}", format: "{{args.format ?? 'text/markdown'}}", content: "{{body}}" }
    },
    inputSchema: args({ fileId, format }, "fileId"),
    outputSchema: content,
    timeoutMs: 60_000,
    mocks: [{ name: "one", output: written }]
  },
  {
    name: "downloadFile",
    title: "Get the content of a file that is no Google document, in base64",
    request: { method: "GET", path: "/files/{{args.fileId}}", query: { ...everywhere, alt: "media" } },
    response: { ...driveResponse, type: "base64", map: { fileId: "{{args.fileId}}", base64: "{{body}}" } },
    inputSchema: args({ fileId }, "fileId"),
    outputSchema: record({ fileId: text, base64: { type: ["string", "null"] } }, "fileId"),
    timeoutMs: 60_000,
    mocks: [{ name: "one", output: { fileId: "1Kx7fAqBcDeFgHiJkLmNoPqRsTuVwXyZ0", base64: "SGVsbG8h" } }]
  },
  {
    name: "uploadContent",
    title: "Replace a file's content",
    description: "A Google document is made of the content, which is in the format.",
    request: {
      method: "PATCH",
      path: "https://www.googleapis.com/upload/drive/v3/files/{{args.fileId}}",
      query: { ...everywhere, uploadType: "media", ...answered },
      headers: { "Content-Type": "{{args.format ?? 'text/plain'}}; charset=UTF-8" },
      body: "{{args.content}}",
      bodyType: "text"
    },
    response: driveResponse,
    inputSchema: args({ fileId, format, content: text, fields }, "fileId", "content"),
    outputSchema: file,
    timeoutMs: 60_000,
    mocks: [{ name: "one", output: plan }]
  }
]

// --- The account, and who may see a file ---

const permission = record({ id: text, type: text, role: text, emailAddress: text, displayName: text }, "id")
const reader: JsonObject = { id: "17", type: "user", role: "reader", emailAddress: "bob@example.com" }

export const accountActions: ReadonlyArray<ActionManifest> = [
  {
    name: "getAbout",
    title: "Get the account",
    request: { method: "GET", path: "/about", query: { fields: "{{args.fields ?? 'user,storageQuota'}}" } },
    response: driveResponse,
    inputSchema: args({ fields }),
    outputSchema: record({ user }),
    mocks: [{ name: "one", output: { user: { displayName: "Ada Byron", emailAddress: "ada@example.com", me: true } } }]
  },
  {
    name: "listPermissions",
    title: "List who may see a file",
    request: {
      method: "GET",
      path: "/files/{{args.fileId}}/permissions",
      query: {
        ...everywhere,
        pageSize: "{{args.pageSize ?? 100}}",
        fields: "nextPageToken,permissions(id,type,role,emailAddress,displayName)",
        pageToken: "{{args.pageToken}}"
      }
    },
    response: driveResponse,
    pagination: { type: "cursor", items: "$.permissions", next: "$.nextPageToken", param: "pageToken" },
    inputSchema: args({ fileId, pageSize: upTo(100), pageToken: text }, "fileId"),
    outputSchema: record({ permissions: list(permission), nextPageToken: text }, "permissions"),
    mocks: [{ name: "one", output: { permissions: [reader] } }]
  },
  {
    name: "createPermission",
    title: "Share a file",
    request: {
      method: "POST",
      path: "/files/{{args.fileId}}/permissions",
      query: { ...everywhere, ...fromArgs("sendNotificationEmail", "emailMessage", "transferOwnership") },
      body: fromArgs("type", "role", "emailAddress", "domain", "allowFileDiscovery")
    },
    response: driveResponse,
    inputSchema: args(
      {
        fileId,
        type: oneOf("user", "group", "domain", "anyone"),
        role: oneOf("owner", "organizer", "fileOrganizer", "writer", "commenter", "reader"),
        emailAddress: text,
        domain: text,
        allowFileDiscovery: flag,
        sendNotificationEmail: flag,
        emailMessage: text,
        transferOwnership: flag
      },
      "fileId",
      "type",
      "role"
    ),
    outputSchema: permission,
    mocks: [{ name: "one", output: reader }]
  },
  {
    name: "deletePermission",
    title: "Stop sharing a file with somebody",
    request: {
      method: "DELETE",
      path: "/files/{{args.fileId}}/permissions/{{args.permissionId}}",
      query: everywhere
    },
    response: driveResponse,
    inputSchema: args({ fileId, permissionId: text }, "fileId", "permissionId"),
    outputSchema: { type: "null" },
    mocks: [{ name: "deleted", output: null }]
  }
]
