/** One release: its workflows, where it is deployed, and its deployment or rollback. */
import { useState } from "react"
import { Link, useLocation, useParams } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useList, useRead } from "../../api/Reads.js"
import { useMe } from "../../api/Session.js"
import { Badge } from "../../ui/Badge.js"
import { Button } from "../../ui/Button.js"
import { EnvironmentChoice } from "../../ui/Choices.js"
import { CopyText } from "../../ui/CopyText.js"
import { Confirm, FormDialog } from "../../ui/Dialog.js"
import { Select } from "../../ui/Field.js"
import { Card, Facts, Page } from "../../ui/Page.js"
import { Loaded } from "../../ui/States.js"
import { Table } from "../../ui/Table.js"
import { Time } from "../../ui/Time.js"
import { useToast } from "../../ui/Toasts.js"
import { useDeployRefusal } from "./deploying.js"

type Record = ApiSchemas["Release"]
interface DialogOf {
  readonly release: Record
  readonly close: () => void
}

const changes = ["/api/v1/releases", "/api/v1/releases/{rel}", "/api/v1/workflows/{wid}"] as const
const above = [{ name: "Releases", to: "/releases" }]

export const Release = () => {
  const { rel = "" } = useParams()
  const read = useRead("/api/v1/releases/{rel}", { params: { path: { rel } } })
  const release = read.data?.data
  const [shown, show] = useState<"deploy" | "rollback">()
  const close = () => show(undefined)
  const refusal = useDeployRefusal()
  return (
    <Page
      title={release === undefined ? "Release" : `Release ${release.version}`}
      above={above}
      beside={release !== undefined && <Badge word={release.status} />}
      actions={
        release !== undefined && (
          <>
            <Button kind="main" {...refusal} onClick={() => show("deploy")}>
              Deploy …
            </Button>
            {release.environments.length > 0 && (
              <Button kind="danger" {...refusal} onClick={() => show("rollback")}>
                Roll back …
              </Button>
            )}
          </>
        )
      }
    >
      <Loaded of={read} what="the release">
        {({ data }) => <Shown release={data} />}
      </Loaded>
      {release !== undefined && shown === "deploy" && <DeployDialog release={release} close={close} />}
      {release !== undefined && shown === "rollback" && <RollbackDialog release={release} close={close} />}
    </Page>
  )
}

const Shown = ({ release }: { readonly release: Record }) => {
  const workflows = useList("/api/v1/workflows", {}, { pageSize: 200 })
  const nameOf = new Map(workflows.rows.map(({ id, name }) => [id, name]))
  return (
    <div className="stack">
      <Card title="About it">
        <Facts
          facts={[
            ["Id", <CopyText key="id" text={release.id} />],
            ["Name", release.name],
            ["Notes", release.notes ?? "–"],
            [
              "Customer",
              release.customerId === null ? (
                "all customers"
              ) : (
                <Link key="customer" href={`/customers/${release.customerId}`}>
                  {release.customerId}
                </Link>
              )
            ],
            ["Now the release of", release.environments.join(", ") || "no environment"],
            ["Created", <Time key="created" at={release.createdAt} isExact />],
            ["Created by", <code key="by">{release.createdBy}</code>],
            ["Deployed", <Time key="deployed" at={release.deployedAt} isExact never="never" />],
            ["Deployed by", release.deployedBy === null ? "–" : <code key="deployer">{release.deployedBy}</code>],
            ...(release.rollbackOf === null
              ? []
              : ([
                  [
                    "Rollback of",
                    <Link key="rollback" href={`/releases/${release.rollbackOf}`}>
                      {release.rollbackOf}
                    </Link>
                  ]
                ] as const))
          ]}
        />
      </Card>
      <Card title={`Workflows: ${release.workflows.length}`} flush>
        <Table
          label="Workflows of the release"
          rows={release.workflows}
          keyOf={({ workflowId }) => workflowId}
          columns={[
            {
              name: "Workflow",
              of: ({ workflowId }) => (
                <Link href={`/workflows/${workflowId}?tab=versions`}>{nameOf.get(workflowId) ?? workflowId}</Link>
              )
            },
            { name: "Version", of: ({ version }) => version }
          ]}
        />
      </Card>
    </div>
  )
}

const DeployDialog = ({ close, release }: DialogOf) => {
  const me = useMe()
  const [slug, setSlug] = useState(release.environments.length === 0 ? (release.environment ?? "") : "")
  const environments = useList("/api/v1/environments", {}, { pageSize: 200 })
  const target = environments.rows.find(
    (one) => one.slug === slug && (one.customerId === release.customerId || one.customerId === null)
  )
  const tell = useToast()
  const deploy = useChange(
    () =>
      bodyOf(
        client.POST("/api/v1/releases/{rel}/deploy", {
          params: { path: { rel: release.id } },
          body: { environment: slug }
        })
      ),
    {
      changes,
      done: () => {
        close()
        tell(`The release is deployed to ${slug}.`)
      }
    }
  )
  return (
    <FormDialog
      title={`Deploy release ${release.version}`}
      verb={slug === "" ? "Deploy" : `Deploy to ${slug}`}
      isOpen
      close={close}
      send={() => deploy.run()}
      isRunning={deploy.isRunning}
      isReady={slug !== ""}
      error={deploy.error}
    >
      <p>All {release.workflows.length} versions are deployed, or none. The next runs there use them.</p>
      <EnvironmentChoice
        none="Choose …"
        value={slug}
        onChange={setSlug}
        wrong={deploy.error?.detailOf("environment")}
      />
      {target?.protected === true && (
        <p className="notice">{target.name} is protected: it takes workflows:deploy_prod.</p>
      )}
      {target?.requiresReview === true && (
        <p className="notice warn">
          {target.name} requires a review: somebody else than the release's creator deploys it.{" "}
          {release.createdBy === me.id && "You created it: ask somebody to open this page, review it, and deploy it."}
        </p>
      )}
    </FormDialog>
  )
}

const RollbackDialog = ({ close, release }: DialogOf) => {
  const [slug, setSlug] = useState(release.environments[0] ?? "")
  const [, go] = useLocation()
  const rollBack = useChange(
    (remove: boolean) =>
      bodyOf(
        client.POST("/api/v1/releases/{rel}/rollback", {
          params: { path: { rel: release.id } },
          body: { environment: slug, ...(remove ? { remove } : {}) }
        })
      ),
    {
      changes,
      done: ({ data }) => {
        close()
        go(`/releases/${data.id}`)
      }
    }
  )
  // Of what the service has refused to take away unasked, it tells each: sending again is the answer.
  const since = rollBack.error?.details.filter(({ code }) => code === "WOULD_REMOVE") ?? []
  const asks = since.length > 0
  return (
    <Confirm
      title={`Roll back release ${release.version}?`}
      verb={asks ? "Roll back all the same" : "Roll back"}
      isOpen
      close={close}
      send={() => rollBack.run(asks)}
      isRunning={rollBack.isRunning}
      error={asks ? null : rollBack.error}
    >
      <p>
        A new release deploys exactly what the environment had before this one: earlier versions come back, and
        workflows that were not deployed there are removed.
      </p>
      <Select
        label="Environment"
        value={slug}
        onChange={(one) => {
          rollBack.reset()
          setSlug(one)
        }}
        options={release.environments.map((one) => [one, one] as const)}
        wrong={rollBack.error?.detailOf("environment")}
      />
      {asks && (
        <div className="notice warn stack tight" role="alert">
          <p>Something was deployed to {slug} since. Nothing has been changed yet. Roll back all the same?</p>
          <ul>
            {since.map(({ message }) => (
              <li key={message}>{message}.</li>
            ))}
          </ul>
        </div>
      )}
    </Confirm>
  )
}
