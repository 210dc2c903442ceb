/** Confluence Cloud, REST API v2. https://developer.atlassian.com/cloud/confluence/rest/v2 */
import { defineBuiltIn } from "../../connector/Definition.js"
import { atlassianAuth, atlassianConfig, atlassianRateLimit } from "../AtlassianAccount.js"
import { pairs } from "../SchemaShorthands.js"
import { confluenceActions } from "./Pages.js"

/** What is in the bin or removed; the words of records that are neither are not listed. */
const deleted = { from: "status", to: "remoteWasDeleted", enum: { trashed: true, deleted: true }, fallback: false }

export const confluence = defineBuiltIn({
  svcConnector: 1,
  slug: "confluence",
  name: "Confluence",
  description: "Spaces, pages and comments of a Confluence Cloud site.",
  kind: "knowledge_base",
  version: "1.0.0",
  domain: "atlassian.com",
  baseUrl: "{{connection.config.url}}",
  connectionConfig: atlassianConfig("confluence"),
  auth: atlassianAuth([
    "read:content-details:confluence",
    "read:space:confluence",
    "read:page:confluence",
    "write:page:confluence",
    "delete:page:confluence",
    "read:comment:confluence",
    "write:comment:confluence",
    "delete:comment:confluence"
  ]),
  test: { action: "getCurrentUser", accountLabel: "$.displayName" },
  rateLimit: atlassianRateLimit,
  actions: confluenceActions,
  entities: [
    {
      name: "space",
      unified: "knowledge-base/space",
      read: "listSpaces",
      get: "getSpace",
      args: { read: { limit: "{{query.pageSize}}" }, get: { spaceId: "{{id}}" } },
      unifiedFields: pairs({ id: "id", key: "key", name: "name", createdAt: "remoteCreatedAt" })
    },
    {
      name: "page",
      unified: "knowledge-base/article",
      read: "listPages",
      // The newest first, so that those after a time come at once.
      search: "listPages",
      get: "getPage",
      create: "createPage",
      update: "updatePage",
      delete: "deletePage",
      args: {
        read: { limit: "{{query.pageSize}}", status: "current,archived" },
        search: { limit: "{{query.pageSize}}", status: "current,archived", sort: "-modified-date" },
        get: { pageId: "{{id}}" },
        // Confluence replaces the page.
        update: {
          pageId: "{{id}}",
          status: "{{record.status ?? before.status}}",
          title: "{{record.title ?? before.title}}",
          body: "{{record.body ?? before.body}}",
          version: "{{before.version.number}}"
        },
        delete: { pageId: "{{id}}" }
      },
      unifiedFields: [
        ...pairs({
          id: "id",
          createdAt: "remoteCreatedAt",
          "version.createdAt": "remoteUpdatedAt",
          title: "title",
          spaceId: "spaceId",
          parentId: "parentId",
          "body.storage.value": "content",
          authorId: "authorId"
        }),
        deleted,
        { from: "body.storage.representation", to: "format", enum: { storage: "html" } },
        {
          from: "status",
          to: "status",
          enum: { current: "PUBLISHED", draft: "DRAFT", archived: "ARCHIVED", trashed: null, deleted: null }
        }
      ],
      unifiedFieldsOut: [
        ...pairs({ title: "title", spaceId: "spaceId", parentId: "parentId", content: "body.storage.value" }),
        { from: "format", to: "body.storage.representation", enum: { html: "storage" } },
        // Confluence archives pages by a task of its own.
        { from: "status", to: "status", enum: { PUBLISHED: "current", DRAFT: "draft" } }
      ]
    },
    {
      name: "comment",
      unified: "knowledge-base/comment",
      read: "listFooterComments",
      search: "listFooterComments",
      get: "getFooterComment",
      create: "createFooterComment",
      update: "updateFooterComment",
      delete: "deleteFooterComment",
      args: {
        read: { limit: "{{query.pageSize}}" },
        search: { limit: "{{query.pageSize}}", sort: "-modified-date" },
        get: { commentId: "{{id}}" },
        update: {
          commentId: "{{id}}",
          body: "{{record.body ?? before.body}}",
          version: "{{before.version.number}}"
        },
        delete: { commentId: "{{id}}" }
      },
      unifiedFields: [
        ...pairs({
          id: "id",
          "version.createdAt": "remoteUpdatedAt",
          pageId: "articleId",
          "body.storage.value": "content",
          "version.authorId": "authorId"
        }),
        deleted
      ],
      unifiedFieldsOut: pairs({ articleId: "pageId", content: "body.storage.value" })
    }
  ]
})
