/** The environments of the organisation and of its customers. */
import { useState } from "react"
import { Link } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useList } from "../../api/Reads.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { CustomerChoice } from "../../ui/Choices.js"
import { Confirm, FormDialog } from "../../ui/Dialog.js"
import { Check, TextField } from "../../ui/Field.js"
import { FilterFields, NoMatch, useFieldFilters } from "../../ui/Filters.js"
import { Page } from "../../ui/Page.js"
import { ListTable } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"
import { useForm } from "../../ui/useForm.js"

type Environment = ApiSchemas["Environment"]

const changes = ["/api/v1/environments"] as const

const fields = [
  { name: "q", label: "Name" },
  { name: "customer_id", label: "Customer's id", placeholder: "cus_…" }
] as const

export const Environments = () => {
  const filters = useFieldFilters(fields)
  const { clear, values } = filters
  const list = useList("/api/v1/environments", values)
  const [edited, edit] = useState<Environment | "new">()
  const [removed, remove] = useState<Environment>()
  const create = (
    <Button kind="main" needs="settings:update" onClick={() => edit("new")}>
      Create an environment
    </Button>
  )
  return (
    <Page title="Environments" actions={create}>
      <FilterFields {...filters} />
      <ListTable<Environment>
        label="environments"
        keyOf={({ id }) => id}
        list={list}
        columns={[
          { name: "Name", of: ({ name }) => name },
          { name: "Slug", of: ({ slug }) => <code>{slug}</code> },
          {
            name: "Rules",
            of: (one) => (
              <span className="row">
                {one.type === "builtin" && <Badge word="built in" />}
                {one.autoDeploy && <Badge word="publishing deploys" tone="good" />}
                {one.protected && <Badge word="protected" tone="warn" />}
                {one.requiresReview && <Badge word="review" tone="warn" />}
              </span>
            )
          },
          {
            name: "Customer",
            of: ({ customerId }) =>
              customerId === null ? "all" : <Link href={`/customers/${customerId}`}>{customerId}</Link>
          },
          { name: "Release", of: ({ slug }) => <Link href={`/releases?environment=${slug}`}>Releases</Link> },
          { name: "Created", of: ({ createdAt }) => <Time at={createdAt} /> },
          {
            name: "Actions",
            isUnnamed: true,
            of: (one) => (
              <span className="row">
                <Button size="small" needs="settings:update" object={one.name} onClick={() => edit(one)}>
                  Edit
                </Button>
                {one.type === "custom" && (
                  <Button
                    size="small"
                    kind="danger"
                    needs="settings:update"
                    object={one.name}
                    onClick={() => remove(one)}
                  >
                    Delete
                  </Button>
                )}
              </span>
            )
          }
        ]}
        empty={<NoMatch title="No environment matches" clear={clear} />}
      />
      {edited !== undefined && (
        <EnvironmentDialog environment={edited === "new" ? undefined : edited} close={() => edit(undefined)} />
      )}
      {removed !== undefined && <DeleteDialog environment={removed} close={() => remove(undefined)} />}
    </Page>
  )
}

const EnvironmentDialog = ({
  close,
  environment
}: {
  /** Absent: a new one. */
  readonly environment: Environment | undefined
  readonly close: () => void
}) => {
  const { set, values } = useForm({
    name: environment?.name ?? "",
    slug: environment?.slug ?? "",
    customerId: "",
    protected: environment?.protected ?? false,
    requiresReview: environment?.requiresReview ?? false,
    autoDeploy: environment?.autoDeploy ?? false
  })
  const { customerId, slug, ...settings } = values
  const save = useChange(
    () =>
      bodyOf(
        environment === undefined
          ? client.POST("/api/v1/environments", {
              body: { ...settings, slug, ...(customerId === "" ? {} : { customerId }) }
            })
          : client.PUT("/api/v1/environments/{env}", {
              params: { path: { env: environment.id }, header: { "If-Match": `"${environment.version}"` } },
              // `test` always runs the latest version: its rules are not sent unless they have changed.
              body: {
                name: settings.name,
                ...(settings.protected === environment.protected ? {} : { protected: settings.protected }),
                ...(settings.requiresReview === environment.requiresReview
                  ? {}
                  : { requiresReview: settings.requiresReview }),
                ...(settings.autoDeploy === environment.autoDeploy ? {} : { autoDeploy: settings.autoDeploy })
              }
            })
      ),
    { changes, done: close }
  )
  const wrong = (path: string) => save.error?.detailOf(path)
  return (
    <FormDialog
      title={environment === undefined ? "Create an environment" : `Edit “${environment.name}”`}
      verb={environment === undefined ? "Create" : "Save"}
      isOpen
      close={close}
      send={() => save.run()}
      isRunning={save.isRunning}
      isReady={values.name !== "" && values.slug !== ""}
      error={save.error}
    >
      <TextField label="Name" value={values.name} onChange={set("name")} isRequired wrong={wrong("name")} />
      {environment === undefined && (
        <>
          <TextField
            label="Slug"
            hint="Lower-case letters, digits and hyphens: runs name it by x-svc-env. It cannot be changed later."
            value={values.slug}
            onChange={set("slug")}
            isRequired
            wrong={wrong("slug")}
          />
          <CustomerChoice
            none="All customers"
            hint="A customer's environment replaces the organisation's of the same slug for that customer."
            value={values.customerId}
            onChange={set("customerId")}
            wrong={wrong("customerId")}
          />
        </>
      )}
      <Check checked={values.autoDeploy} onChange={set("autoDeploy")}>
        Publishing a workflow deploys it here
      </Check>
      <Check checked={values.protected} onChange={set("protected")}>
        Protected: deploying needs the permission workflows:deploy_prod
      </Check>
      <Check checked={values.requiresReview} onChange={set("requiresReview")}>
        A release is deployed by somebody else than its creator, and publishing deploys nothing
      </Check>
    </FormDialog>
  )
}

const DeleteDialog = ({ close, environment }: { readonly environment: Environment; readonly close: () => void }) => {
  const remove = useChange(
    () => bodyOf(client.DELETE("/api/v1/environments/{env}", { params: { path: { env: environment.id } } })),
    { changes, done: close }
  )
  return (
    <Confirm
      title={`Delete “${environment.name}”?`}
      verb="Delete"
      typed={environment.slug}
      isOpen
      close={close}
      send={() => remove.run()}
      isRunning={remove.isRunning}
      error={remove.error}
    >
      <p>Its deployments are deleted with it: runs that name it are refused from then on.</p>
    </Confirm>
  )
}
