/** GitHub's repositories, issues, comments and people as the records of project management; ids are GitHub's global ones. */
import { type EntityManifest, pairs } from "../SchemaShorthands.js"

export const githubEntities: ReadonlyArray<EntityManifest> = [
  {
    name: "repository",
    unified: "project-management/project",
    read: "listRepositories",
    get: "getRepositoryNode",
    args: { read: { per_page: "{{query.pageSize}}", sort: "created" }, get: { id: "{{id}}" } },
    unifiedFields: [
      ...pairs({
        node_id: "id",
        created_at: "remoteCreatedAt",
        updated_at: "remoteUpdatedAt",
        html_url: "url",
        name: "name",
        full_name: "key"
      }),
      { from: "archived", to: "status", enum: { true: "archived", false: "active" } }
    ]
  },
  {
    name: "issue",
    unified: "project-management/task",
    read: "listAccountIssues",
    search: "listAccountIssues",
    get: "getIssueNode",
    create: ["getRepositoryNode", "createIssue", "getIssueNode"],
    update: ["updateIssue", "getIssueNode"],
    delete: "deleteIssueNode",
    args: {
      read: { per_page: "{{query.pageSize}}", filter: "repos", state: "all", sort: "created", pulls: false },
      search: {
        per_page: "{{query.pageSize}}",
        filter: "repos",
        state: "all",
        sort: "created",
        pulls: false,
        since: "{{query.modifiedAfter.iso}}"
      },
      get: { id: "{{id}}" },
      create: [
        { id: "{{record.repository.node_id}}" },
        { owner: "{{results[0].owner.login}}", repo: "{{results[0].name}}" },
        { id: "{{results[1].node_id}}" }
      ],
      update: [
        {
          owner: "{{before.repository.owner.login}}",
          repo: "{{before.repository.name}}",
          number: "{{before.number}}"
        },
        { id: "{{id}}" }
      ],
      delete: { id: "{{id}}" }
    },
    unifiedFields: [
      ...pairs({
        node_id: "id",
        created_at: "remoteCreatedAt",
        updated_at: "remoteUpdatedAt",
        html_url: "url",
        title: "title",
        body: "description",
        "repository.node_id": "projectId",
        "assignees[*].login": "assigneeIds[*]",
        "milestone.due_on": "dueDate",
        "labels[*].name": "labels[*]"
      }),
      { from: "state", to: "status", enum: { open: "OPEN", closed: "DONE" } },
      { from: "state", to: "rawStatus", transforms: ["LOWER"] }
    ],
    // A due date is that of a milestone, which issues share.
    unifiedFieldsOut: [
      ...pairs({
        title: "title",
        description: "body",
        projectId: "repository.node_id",
        "assigneeIds[*]": "assignees[*]",
        "labels[*]": "labels[*]"
      }),
      { from: "status", to: "state", enum: { OPEN: "open", DONE: "closed" } }
    ]
  },
  {
    name: "comment",
    unified: "project-management/comment",
    // GitHub lists the comments of one repository.
    get: "getCommentNode",
    create: "createCommentNode",
    update: "updateCommentNode",
    delete: "deleteCommentNode",
    args: {
      get: { id: "{{id}}" },
      create: { issueId: "{{record.issue.node_id}}" },
      update: { id: "{{id}}" },
      delete: { id: "{{id}}" }
    },
    unifiedFields: pairs({
      node_id: "id",
      created_at: "remoteCreatedAt",
      updated_at: "remoteUpdatedAt",
      html_url: "url",
      "issue.node_id": "taskId",
      body: "content"
    })
  },
  {
    name: "user",
    unified: "project-management/user",
    // Of the organization that the connection's config names.
    read: "listMembers",
    get: "getUser",
    args: { read: { first: "{{query.pageSize}}" }, get: { login: "{{id}}" } },
    unifiedFields: [...pairs({ login: "id", name: "name", email: "email" })]
  }
]
