/** Roles: what their people may do. Built-in ones are fixed; own ones have a part of what their parent has. */
import { useState } from "react"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useList } from "../../api/Reads.js"
import { Button } from "../../ui/Button.js"
import { RoleChoice } from "../../ui/Choices.js"
import { Dialog, FormDialog } from "../../ui/Dialog.js"
import { TextField } from "../../ui/Field.js"
import { PermissionChecks } from "../../ui/PermissionChecks.js"
import { Empty, Problem } from "../../ui/States.js"
import { ListTable } from "../../ui/Table.js"
import { useForm } from "../../ui/useForm.js"

type RoleRecord = ApiSchemas["Role"]

export const Roles = () => {
  const list = useList("/api/v1/roles")
  const [shown, show] = useState<RoleRecord | "new">()
  const remove = useChange(
    (rid: string) => bodyOf(client.DELETE("/api/v1/roles/{rid}", { params: { path: { rid } } })),
    {
      changes: ["/api/v1/roles"]
    }
  )
  const close = () => show(undefined)
  const nameOf = (id: string | null) => (id === null ? "–" : (list.rows.find((role) => role.id === id)?.name ?? id))
  return (
    <div className="stack">
      <div className="row">
        <Button kind="main" needs="settings:manage" onClick={() => show("new")}>
          Create a role
        </Button>
      </div>
      <Problem error={remove.error} />
      <ListTable
        label="roles"
        list={list}
        keyOf={({ id }) => id}
        empty={<Empty title="No roles" />}
        columns={[
          { name: "Role", of: ({ name }) => name },
          { name: "Kind", of: ({ builtin }) => (builtin ? "built in" : "your own") },
          { name: "Within", of: ({ parent }) => nameOf(parent) },
          {
            name: "Permissions",
            isNumber: true,
            of: ({ permissions }) => Object.values(permissions).reduce((sum, actions) => sum + actions.length, 0)
          },
          {
            name: "Actions",
            isUnnamed: true,
            of: (role) => (
              <span className="row">
                <Button size="small" object={role.name} onClick={() => show(role)}>
                  {role.builtin ? "Show" : "Edit"}
                </Button>
                {!role.builtin && (
                  <Button
                    size="small"
                    kind="danger"
                    needs="settings:manage"
                    object={role.name}
                    onClick={() => remove.run(role.id)}
                  >
                    Delete
                  </Button>
                )}
              </span>
            )
          }
        ]}
      />
      {shown !== undefined && shown !== "new" && shown.builtin && (
        <Dialog title={shown.name} isOpen isWide close={close}>
          <PermissionChecks legend="Permissions" matrix={shown.permissions} />
        </Dialog>
      )}
      {shown !== undefined && (shown === "new" || !shown.builtin) && (
        <RoleDialog before={shown === "new" ? undefined : shown} close={close} />
      )}
    </div>
  )
}

const RoleDialog = ({ before, close }: { readonly before: RoleRecord | undefined; readonly close: () => void }) => {
  const { set, values } = useForm({
    name: before?.name ?? "",
    parent: before?.parent ?? "",
    permissions: before?.permissions ?? ({} as RoleRecord["permissions"])
  })
  const save = useChange(
    () =>
      bodyOf(
        before === undefined
          ? client.POST("/api/v1/roles", {
              body: { name: values.name, parent: values.parent, permissions: values.permissions }
            })
          : client.PUT("/api/v1/roles/{rid}", {
              params: { path: { rid: before.id } },
              body: { name: values.name, permissions: values.permissions, version: before.version }
            })
      ),
    { changes: ["/api/v1/roles"], done: close }
  )
  const wrong = (member: string) => save.error?.detailOf(member)
  return (
    <FormDialog
      title={before === undefined ? "Create a role" : `Edit ${before.name}`}
      verb="Save"
      isOpen
      isWide
      close={close}
      send={() => save.run()}
      isRunning={save.isRunning}
      isReady={values.name !== "" && values.parent !== ""}
      error={save.error}
    >
      <TextField label="Name" value={values.name} onChange={set("name")} isRequired wrong={wrong("name")} />
      {before === undefined && (
        <RoleChoice
          label="Within the role"
          value={values.parent}
          onChange={set("parent")}
          none="Choose"
          hint="It has at most the permissions of this one."
          wrong={wrong("parent")}
        />
      )}
      <PermissionChecks legend="Permissions" matrix={values.permissions} onChange={set("permissions")} />
    </FormDialog>
  )
}
