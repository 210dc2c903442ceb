/** Messages to people: from workflows, and from svc when something needs attention. */
import { bodyOf, client } from "../../api/Client.js"
import { type ListRow, useChange, useList } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { FilterFields, useFieldFilters } from "../../ui/Filters.js"
import { Page } from "../../ui/Page.js"
import { SafeLink } from "../../ui/SafeLink.js"
import { Empty, Problem } from "../../ui/States.js"
import { type Column, ListTable } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"

type Row = ListRow<"/api/v1/notifications">

const fields = [
  { name: "severity", label: "Severity", options: ["info", "success", "warning", "error", "critical"] },
  { name: "channel", label: "Channel", options: ["in_app", "email", "team_chat", "webhook"] },
  { name: "status", label: "Status", options: ["queued", "sent", "failed", "read"] }
] as const

export const Notifications = () => {
  const filters = useFieldFilters(fields)
  const { values } = filters
  const list = useList("/api/v1/notifications", values, { every: 10_000 })
  const mark = useChange(
    (body: { readonly ids: Array<string> } | { readonly all: true; readonly before: string }) =>
      bodyOf(client.POST("/api/v1/notifications/mark-read", { body })),
    { changes: ["/api/v1/notifications"] }
  )
  const newest = list.rows[0]?.createdAt
  const columns: ReadonlyArray<Column<Row>> = [
    { name: "When", of: ({ createdAt }) => <Time at={createdAt} /> },
    {
      name: "Severity",
      of: ({ severity }) => (
        <Badge
          word={severity}
          tone={severity === "error" || severity === "critical" ? "bad" : severity === "warning" ? "warn" : "none"}
        />
      )
    },
    { name: "Message", of: ({ body, link, title }) => <Message title={title} body={body} link={link} /> },
    { name: "Channel", of: ({ channel }) => channel.replaceAll("_", " ") },
    { name: "Status", of: ({ status }) => status },
    {
      name: "Mark as read",
      isUnnamed: true,
      of: ({ id, readAt, title }) =>
        readAt === null ? (
          <Button size="small" object={`“${title}”`} onClick={() => mark.run({ ids: [id] })}>
            Mark as read
          </Button>
        ) : null
    }
  ]
  return (
    <Page
      title="Notifications"
      actions={
        newest !== undefined && (
          <Button
            isRunning={mark.isRunning}
            onClick={() => mark.run({ all: true, before: new Date(Date.parse(newest) + 1).toISOString() })}
          >
            Mark all as read
          </Button>
        )
      }
    >
      <FilterFields {...filters} />
      <Problem error={mark.error} />
      <ListTable
        label="notifications"
        columns={columns}
        keyOf={({ id }) => id}
        list={list}
        empty={
          <Empty title="Nothing to read">Failures, broken connections and messages of workflows appear here.</Empty>
        }
      />
    </Page>
  )
}

const Message = ({
  body,
  link,
  title
}: {
  readonly title: string
  readonly body: string
  readonly link: string | null
}) => (
  <span title={body}>
    <strong>{link === null ? title : <SafeLink to={link}>{title}</SafeLink>}</strong> {body}
  </span>
)
