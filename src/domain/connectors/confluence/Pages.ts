/** Actions of Confluence on spaces, pages and the comments at their foot. */
import { type ActionManifest, args, flag, fromArgs, id, oneOf, record, text } from "../SchemaShorthands.js"
import {
  bodyInput,
  commentMock,
  confluenceComment,
  confluencePage,
  confluenceResponse,
  confluenceSpace,
  defineConfluenceList,
  noContent,
  pageMock,
  sentBody,
  sentVersion,
  spaceMock,
  storageFormat,
  versionInput
} from "./Requests.js"

const api = "/wiki/api/v2"
const pageStatus = oneOf("current", "draft")

export const confluenceActions: ReadonlyArray<ActionManifest> = [
  {
    name: "getCurrentUser",
    title: "Get the account",
    request: { method: "GET", path: "/wiki/rest/api/user/current" },
    inputSchema: args(),
    outputSchema: record({ accountId: text, displayName: text, email: text }, "accountId"),
    mocks: [
      {
        name: "one",
        output: { accountId: "5b10ac8d82e05b22cc7d4ef5", displayName: "Ada Byron", email: "ada@example.com" }
      }
    ]
  },
  defineConfluenceList({
    name: "listSpaces",
    title: "List spaces",
    path: "/spaces",
    filters: { keys: text, type: text, status: oneOf("current", "archived"), sort: text },
    item: confluenceSpace,
    mock: spaceMock
  }),
  {
    name: "getSpace",
    title: "Get a space",
    request: { method: "GET", path: `${api}/spaces/{{args.spaceId}}` },
    response: confluenceResponse,
    inputSchema: args({ spaceId: id }, "spaceId"),
    outputSchema: confluenceSpace,
    mocks: [{ name: "one", output: spaceMock }]
  },
  defineConfluenceList({
    name: "listPages",
    title: "List pages",
    path: "/pages",
    filters: { "space-id": text, title: text, status: text, sort: text },
    query: storageFormat,
    item: confluencePage,
    mock: pageMock
  }),
  {
    name: "getPage",
    title: "Get a page",
    request: {
      method: "GET",
      path: `${api}/pages/{{args.pageId}}`,
      query: { ...storageFormat, "get-draft": "{{args.draft}}", version: "{{args.version}}" }
    },
    response: confluenceResponse,
    inputSchema: args({ pageId: id, draft: flag, version: { type: "integer" } }, "pageId"),
    outputSchema: confluencePage,
    mocks: [{ name: "one", output: pageMock }]
  },
  {
    name: "createPage",
    title: "Create a page",
    request: {
      method: "POST",
      path: `${api}/pages`,
      body: { ...fromArgs("spaceId", "status", "title", "parentId"), body: sentBody }
    },
    response: confluenceResponse,
    inputSchema: args(
      { spaceId: id, status: pageStatus, title: text, parentId: id, body: bodyInput },
      "spaceId",
      "title"
    ),
    outputSchema: confluencePage,
    mocks: [{ name: "one", output: pageMock }]
  },
  {
    name: "updatePage",
    title: "Change a page",
    description: "version: of the page as it is; Confluence refuses a change of another one.",
    request: {
      method: "PUT",
      path: `${api}/pages/{{args.pageId}}`,
      body: {
        id: "{{args.pageId}}",
        ...fromArgs("status", "title", "spaceId", "parentId"),
        body: sentBody,
        version: sentVersion
      },
      increments: ["version.number"]
    },
    response: confluenceResponse,
    inputSchema: args(
      {
        pageId: id,
        status: pageStatus,
        title: text,
        spaceId: id,
        parentId: id,
        body: bodyInput,
        version: versionInput,
        message: text
      },
      "pageId",
      "status",
      "title",
      "body",
      "version"
    ),
    outputSchema: confluencePage,
    mocks: [{ name: "one", output: pageMock }]
  },
  {
    name: "deletePage",
    title: "Put a page into the bin, or remove it for good",
    request: {
      method: "DELETE",
      path: `${api}/pages/{{args.pageId}}`,
      query: { purge: "{{args.purge}}", draft: "{{args.draft}}" }
    },
    response: confluenceResponse,
    inputSchema: args({ pageId: id, purge: flag, draft: flag }, "pageId"),
    outputSchema: noContent,
    mocks: [{ name: "deleted", output: null }]
  },
  defineConfluenceList({
    name: "listFooterComments",
    title: "List comments at the foot of pages and blog posts",
    path: "/footer-comments",
    filters: { sort: text },
    query: storageFormat,
    item: confluenceComment,
    mock: commentMock
  }),
  {
    name: "getFooterComment",
    title: "Get a comment",
    request: { method: "GET", path: `${api}/footer-comments/{{args.commentId}}`, query: storageFormat },
    response: confluenceResponse,
    inputSchema: args({ commentId: id }, "commentId"),
    outputSchema: confluenceComment,
    mocks: [{ name: "one", output: commentMock }]
  },
  {
    name: "createFooterComment",
    title: "Comment on a page, or answer a comment",
    request: {
      method: "POST",
      path: `${api}/footer-comments`,
      body: { ...fromArgs("pageId", "parentCommentId"), body: sentBody }
    },
    response: confluenceResponse,
    inputSchema: args({ pageId: id, parentCommentId: id, body: bodyInput }, "body"),
    outputSchema: confluenceComment,
    mocks: [{ name: "one", output: commentMock }]
  },
  {
    name: "updateFooterComment",
    title: "Change a comment",
    description: "version: of the comment as it is; Confluence refuses a change of another one.",
    request: {
      method: "PUT",
      path: `${api}/footer-comments/{{args.commentId}}`,
      body: { version: sentVersion, body: sentBody },
      increments: ["version.number"]
    },
    response: confluenceResponse,
    inputSchema: args(
      { commentId: id, body: bodyInput, version: versionInput, message: text },
      "commentId",
      "body",
      "version"
    ),
    outputSchema: confluenceComment,
    mocks: [{ name: "one", output: commentMock }]
  },
  {
    name: "deleteFooterComment",
    title: "Delete a comment",
    request: { method: "DELETE", path: `${api}/footer-comments/{{args.commentId}}` },
    response: confluenceResponse,
    inputSchema: args({ commentId: id }, "commentId"),
    outputSchema: noContent,
    mocks: [{ name: "deleted", output: null }]
  }
]
