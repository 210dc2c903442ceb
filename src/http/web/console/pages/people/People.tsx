/** The people of the organisation, with their roles; the roles; and one's own sessions. */
import { useState } from "react"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useList } from "../../api/Reads.js"
import { useMe } from "../../api/Session.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { RoleChoice } from "../../ui/Choices.js"
import { CopyText } from "../../ui/CopyText.js"
import { Confirm, Dialog, FormDialog } from "../../ui/Dialog.js"
import { Select, TextField } from "../../ui/Field.js"
import { FilterFields, NoMatch, useFieldFilters } from "../../ui/Filters.js"
import { Page } from "../../ui/Page.js"
import { Guard } from "../../ui/States.js"
import { ListTable } from "../../ui/Table.js"
import { Tabs } from "../../ui/Tabs.js"
import { Time } from "../../ui/Time.js"
import { useForm, wordsOf } from "../../ui/useForm.js"
import { Roles } from "./Roles.js"
import { OwnSessions } from "./OwnSessions.js"

type Person = ApiSchemas["User"]

export const People = () => (
  <Page title="People">
    <Tabs
      label="People, roles and sessions"
      tabs={[
        {
          id: "people",
          name: "People",
          of: () => (
            <Guard permission="users:read">
              <PeopleList />
            </Guard>
          )
        },
        {
          id: "roles",
          name: "Roles",
          of: () => (
            <Guard permission="users:read">
              <Roles />
            </Guard>
          )
        },
        { id: "sessions", name: "My sessions", of: () => <OwnSessions /> }
      ]}
    />
  </Page>
)

type Shown = { readonly kind: "invite" } | { readonly kind: "edit" | "remove"; readonly person: Person }

const fields = [
  { name: "q", label: "Name or e-mail" },
  { name: "status", label: "Status", options: ["active", "invited", "disabled"] }
] as const

const PeopleList = () => {
  const filters = useFieldFilters(fields)
  const { clear, values } = filters
  const list = useList("/api/v1/users", values)
  const roles = useList("/api/v1/roles", {}, { pageSize: 200 })
  const [shown, show] = useState<Shown>()
  const [link, setLink] = useState<ApiSchemas["Invitation"]>()
  const me = useMe()
  const roleName = (id: string) => roles.rows.find((role) => role.id === id)?.name ?? id
  const invite = (
    <Button kind="main" needs="users:invite" onClick={() => show({ kind: "invite" })}>
      Invite a colleague
    </Button>
  )
  const again = useChange(
    (uid: string) => bodyOf(client.POST("/api/v1/users/{uid}/invite", { params: { path: { uid } } })),
    {
      done: ({ data }) => setLink(data)
    }
  )
  return (
    <>
      <FilterFields {...filters}>{invite}</FilterFields>
      <ListTable
        label="people"
        list={list}
        keyOf={({ id }) => id}
        empty={<NoMatch title="No one matches" clear={clear} />}
        columns={[
          { name: "Person", of: ({ email, id, name }) => `${name ?? email}${id === me.id ? " (you)" : ""}` },
          { name: "E-mail", of: ({ email }) => email },
          { name: "Role", of: ({ roleId }) => roleName(roleId) },
          {
            name: "Customers",
            of: ({ customerIds }) => (customerIds.length === 0 ? "all" : `${customerIds.length} chosen`)
          },
          { name: "Status", of: ({ status }) => <Badge word={status} /> },
          { name: "Last active", of: ({ lastActiveAt }) => <Time at={lastActiveAt} never="never" /> },
          {
            name: "Actions",
            isUnnamed: true,
            of: (person) => (
              <span className="row">
                <Button
                  size="small"
                  needs="users:update"
                  object={person.email}
                  onClick={() => show({ kind: "edit", person })}
                >
                  Edit
                </Button>
                {person.status === "invited" && (
                  <Button size="small" needs="users:invite" object={person.email} onClick={() => again.run(person.id)}>
                    Invite again
                  </Button>
                )}
                <Button
                  size="small"
                  kind="danger"
                  needs="users:remove"
                  object={person.email}
                  onClick={() => show({ kind: "remove", person })}
                >
                  Remove
                </Button>
              </span>
            )
          }
        ]}
      />
      {shown?.kind === "invite" && (
        <InviteDialog
          close={() => show(undefined)}
          done={(invitation) => {
            show(undefined)
            setLink(invitation)
          }}
        />
      )}
      {shown?.kind === "edit" && <EditDialog person={shown.person} close={() => show(undefined)} />}
      {shown?.kind === "remove" && <RemoveDialog person={shown.person} close={() => show(undefined)} />}
      {link !== undefined && (
        <Dialog title="The invitation" isOpen close={() => setLink(undefined)}>
          <p>
            With this link your colleague signs in. It works until <Time at={link.expiresAt} isExact />.
          </p>
          <CopyText text={link.inviteUrl} />
        </Dialog>
      )}
    </>
  )
}

const InviteDialog = ({
  close,
  done
}: {
  readonly close: () => void
  readonly done: (invitation: ApiSchemas["Invitation"]) => void
}) => {
  const { set, values } = useForm({ email: "", name: "", role: "" })
  const invite = useChange(
    () =>
      bodyOf(
        client.POST("/api/v1/users/invite", {
          body: { email: values.email, role: values.role, ...(values.name === "" ? {} : { name: values.name }) }
        })
      ),
    { changes: ["/api/v1/users"], done: ({ data }) => done(data) }
  )
  const wrong = (member: string) => invite.error?.detailOf(member)
  return (
    <FormDialog
      title="Invite a colleague"
      verb="Invite"
      isOpen
      close={close}
      send={() => invite.run()}
      isRunning={invite.isRunning}
      isReady={values.email !== "" && values.role !== ""}
      error={invite.error}
    >
      <TextField
        label="E-mail"
        type="email"
        value={values.email}
        onChange={set("email")}
        isRequired
        wrong={wrong("email")}
      />
      <TextField label="Name (optional)" value={values.name} onChange={set("name")} wrong={wrong("name")} />
      <RoleChoice value={values.role} onChange={set("role")} none="Choose" wrong={wrong("role")} />
    </FormDialog>
  )
}

const EditDialog = ({ close, person }: { readonly person: Person; readonly close: () => void }) => {
  const { set, values } = useForm({
    name: person.name ?? "",
    roleId: person.roleId,
    status: person.status as string,
    customerIds: person.customerIds.join(", ")
  })
  const save = useChange(
    () =>
      bodyOf(
        client.PUT("/api/v1/users/{uid}", {
          params: { path: { uid: person.id } },
          body: {
            name: values.name === "" ? null : values.name,
            ...(values.roleId === person.roleId ? {} : { roleId: values.roleId }),
            ...(values.status === person.status ? {} : { status: values.status as Person["status"] }),
            ...(values.customerIds === person.customerIds.join(", ")
              ? {}
              : { customerIds: [...wordsOf(values.customerIds)] }),
            version: person.version
          }
        })
      ),
    { changes: ["/api/v1/users"], done: close }
  )
  const wrong = (member: string) => save.error?.detailOf(member)
  const usual =
    person.status === "invited" || (person.status === "disabled" && person.lastActiveAt === null) ? "invited" : "active"
  return (
    <FormDialog
      title={`Edit ${person.email}`}
      verb="Save"
      isOpen
      close={close}
      send={() => save.run()}
      isRunning={save.isRunning}
      error={save.error}
    >
      <TextField label="Name" value={values.name} onChange={set("name")} wrong={wrong("name")} />
      <RoleChoice value={values.roleId} onChange={set("roleId")} wrong={wrong("roleId")} />
      <TextField
        label="Only these customers (optional)"
        hint="Ids between commas; none: all."
        value={values.customerIds}
        onChange={set("customerIds")}
        wrong={wrong("customerIds")}
      />
      <Select
        label="Status"
        value={values.status}
        onChange={set("status")}
        options={[usual, "disabled"]}
        wrong={wrong("status")}
      />
    </FormDialog>
  )
}

const RemoveDialog = ({ close, person }: { readonly person: Person; readonly close: () => void }) => {
  const remove = useChange(
    () => bodyOf(client.DELETE("/api/v1/users/{uid}", { params: { path: { uid: person.id } } })),
    {
      changes: ["/api/v1/users"],
      done: close
    }
  )
  return (
    <Confirm
      title={`Remove ${person.email}?`}
      verb="Remove"
      isOpen
      close={close}
      send={() => remove.run()}
      isRunning={remove.isRunning}
      error={remove.error}
    >
      <p>The person's sessions end within a second. What the person has made stays.</p>
    </Confirm>
  )
}
