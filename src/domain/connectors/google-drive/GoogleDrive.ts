/** Google Drive, API v3. https://developers.google.com/workspace/drive/api/reference/rest/v3 */
import { defineBuiltIn } from "../../connector/Definition.js"
import { pairs } from "../SchemaShorthands.js"
import { accountActions, contentActions, fileActions } from "./Requests.js"

/** Folders are no documents, and what is in the bin is not listed. */
const documents = "trashed = false and mimeType != 'application/vnd.google-apps.folder'"
const since = (member: string, query: string) => `${member} > '{{query.${query}.iso ?? "1970-01-01T00:00:00.000Z"}}'`
const listed = { pageSize: "{{query.pageSize}}", fields: "nextPageToken,files({{query.fieldList}})" }

export const googleDrive = defineBuiltIn({
  svcConnector: 1,
  slug: "google-drive",
  name: "Google Drive",
  description: "Files of Google Drive, the contents of Google documents, and who may see them.",
  kind: "documents",
  version: "1.0.0",
  domain: "drive.google.com",
  baseUrl: "https://www.googleapis.com/drive/v3",
  auth: [
    {
      id: "oauth",
      type: "oauth2",
      title: "Google account",
      default: true,
      authorizationUrl: "https://accounts.google.com/o/oauth2/v2/auth",
      tokenUrl: "https://oauth2.googleapis.com/token",
      revocationUrl: "https://oauth2.googleapis.com/revoke",
      scopes: ["https://www.googleapis.com/auth/drive"],
      clientAuth: "body",
      // Without them Google sends a refresh token at the first consent only, or none.
      authorizationParams: { access_type: "offline", prompt: "consent", include_granted_scopes: "true" },
      // Access tokens expire after an hour; the refresh token stays the same.
      refresh: { rotates: false, marginSeconds: 300 }
    }
  ],
  test: { action: "getAbout", accountLabel: "$.user.emailAddress" },
  // A project's limit for one account.
  rateLimit: { scope: "connection", requests: 12_000, perSeconds: 60, concurrency: 20 },
  retry: { on: [429, 500, 502, 503, 504, "network"] },
  actions: [...accountActions, ...fileActions, ...contentActions],
  entities: [
    {
      name: "file",
      unified: "documents/document",
      read: "listFiles",
      search: "listFiles",
      get: "getFile",
      create: "createFile",
      update: "updateFile",
      delete: "updateFile",
      args: {
        read: { ...listed, q: documents },
        search: {
          ...listed,
          q: `${documents} and ${since("modifiedTime", "modifiedAfter")} and ${since("createdTime", "createdAfter")}`
        },
        get: { fileId: "{{id}}", fields: "{{query.fieldList}}" },
        update: { fileId: "{{id}}" },
        // Into the bin, from which Google removes it after 30 days.
        delete: { fileId: "{{id}}", trashed: true }
      },
      unifiedFields: pairs({
        id: "id",
        createdTime: "remoteCreatedAt",
        modifiedTime: "remoteUpdatedAt",
        trashed: "remoteWasDeleted",
        webViewLink: "url",
        name: "title",
        mimeType: "mimeType",
        "parents[0]": "folderId",
        size: "size",
        // Files of shared drives have no owner.
        "owners[0].emailAddress": "createdBy",
        "lastModifyingUser.emailAddress": "updatedBy",
        properties: "customFields"
      }).concat({ from: "webViewLink", to: "shareUrl" })
    },
    {
      name: "content",
      unified: "documents/document-content",
      get: "exportContent",
      create: ["uploadContent", "exportContent"],
      update: ["uploadContent", "exportContent"],
      args: {
        get: { fileId: "{{id}}" },
        create: [{}, { fileId: "{{record.fileId}}", format: "{{record.format}}" }],
        update: [
          {
            fileId: "{{id}}",
            format: "{{record.format ?? before.format}}",
            content: "{{record.content ?? before.content}}"
          },
          { fileId: "{{id}}", format: "{{record.format ?? before.format}}" }
        ]
      },
      unifiedFields: [
        { from: "fileId", to: "id" },
        { from: "fileId", to: "documentId" },
        {
          from: "format",
          to: "format",
          enum: { "text/markdown": "markdown", "text/html": "html", "text/plain": "text" }
        },
        { from: "content", to: "content" }
      ],
      unifiedFieldsOut: [
        { from: "documentId", to: "fileId" },
        {
          from: "format",
          to: "format",
          enum: { markdown: "text/markdown", html: "text/html", text: "text/plain" }
        },
        { from: "content", to: "content" }
      ]
    }
  ]
})
