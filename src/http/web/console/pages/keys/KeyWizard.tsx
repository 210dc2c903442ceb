/** Creates a key in three steps: what it may do, for whom and from where, and its text, which is shown once. */
import { useState } from "react"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange, useList } from "../../api/Reads.js"
import { Button } from "../../ui/Button.js"
import { Dialog, FormDialog } from "../../ui/Dialog.js"
import { Check, Select, TextField } from "../../ui/Field.js"
import { grantedBy, PermissionChecks } from "../../ui/PermissionChecks.js"
import { useForm, wordsOf } from "../../ui/useForm.js"
import { IssuedKey } from "./IssuedKey.js"

type Preset = ApiSchemas["ApiKey"]["preset"]
type Matrix = ApiSchemas["PermissionMatrix"]

const presets: ReadonlyArray<readonly [preset: Preset, text: string]> = [
  ["full_access", "Full access: everything that you may do"],
  ["developer", "Developer: builds and runs, manages no people or keys"],
  ["operator", "Operator: runs, cancels, replays, and changes no workflow"],
  ["viewer", "Viewer: reads"],
  ["end_user", "End user: what a customer's own page needs"],
  ["custom", "Custom: the permissions that you list"]
]

const kinds = ["workflow", "connection", "connector", "secret", "environment", "widget"] as const

export const KeyWizard = ({ close }: { readonly close: () => void }) => {
  const [step, setStep] = useState(0)
  const { set, values } = useForm({
    name: "",
    mode: "live",
    preset: "developer",
    permissions: {} as Matrix,
    reach: "all",
    customerIds: [] as ReadonlyArray<string>,
    scopeType: "",
    scopeIds: "",
    allowedIps: "",
    rateLimit: "",
    expires: "90d",
    hmac: false
  })
  const [issued, setIssued] = useState<ApiSchemas["IssuedApiKey"]>()
  const isCustom = values.preset === "custom"
  const create = useChange(
    () =>
      bodyOf(
        client.POST("/api/v1/api-keys", {
          body: {
            name: values.name,
            mode: values.mode as "live" | "test",
            preset: values.preset as Preset,
            ...(isCustom ? { permissions: values.permissions } : {}),
            customers: values.reach === "all" ? { mode: "all" } : { mode: "subset", ids: [...values.customerIds] },
            hmac: { enabled: values.hmac },
            ...(values.scopeType === "" || values.scopeIds === ""
              ? {}
              : {
                  resourceScope: [
                    { type: values.scopeType as (typeof kinds)[number], ids: [...wordsOf(values.scopeIds)] }
                  ]
                }),
            allowedIps: [...wordsOf(values.allowedIps)],
            ...(values.rateLimit === "" ? {} : { rateLimitPerMinute: Number(values.rateLimit) }),
            expires: values.expires
          }
        })
      ),
    { changes: ["/api/v1/api-keys"], done: ({ data }) => setIssued(data) }
  )
  if (issued !== undefined)
    return (
      <Dialog title="The key" isOpen isWide close={close}>
        <IssuedKey issued={issued} />
        <div className="row">
          <Button kind="main" onClick={close}>
            I have stored it
          </Button>
        </div>
      </Dialog>
    )
  const wrong = (member: string) => create.error?.detailOf(member)
  const isLast = step === 1
  return (
    <FormDialog
      title={`Create a key, step ${step + 1} of 2: ${isLast ? "for whom, from where, how long" : "what it may do"}`}
      verb={isLast ? "Create" : "Next"}
      isOpen
      isWide
      close={close}
      send={() => (isLast ? create.run() : setStep(1))}
      isRunning={create.isRunning}
      isReady={values.name !== "" && (!isCustom || Object.keys(values.permissions).length > 0)}
      error={create.error}
    >
      {!isLast && (
        <>
          <TextField
            label="Name"
            hint="What uses the key, such as “shop backend”."
            value={values.name}
            onChange={set("name")}
            isRequired
            wrong={wrong("name")}
          />
          <Select
            label="Rights"
            value={values.preset}
            onChange={set("preset")}
            options={presets}
            wrong={wrong("preset")}
          />
          <PermissionChecks
            legend={isCustom ? "Permissions" : "What it grants"}
            matrix={isCustom ? values.permissions : grantedBy(values.preset)}
            {...(isCustom ? { onChange: set("permissions") } : {})}
          />
          <Select
            label="Mode"
            value={values.mode}
            onChange={set("mode")}
            options={[
              ["live", "Live"],
              ["test", "Test: each request must say so, and calls nothing outside"]
            ]}
          />
        </>
      )}
      {isLast && (
        <>
          <Select
            label="Customers"
            value={values.reach}
            onChange={set("reach")}
            options={[
              ["all", "All customers"],
              ["subset", "Chosen ones: it reads and changes their records only"]
            ]}
            wrong={wrong("customers")}
          />
          {values.reach === "subset" && <CustomerChecks chosen={values.customerIds} choose={set("customerIds")} />}
          <Select
            label="Only these resources"
            value={values.scopeType}
            onChange={set("scopeType")}
            options={[...kinds]}
            none="No restriction"
            wrong={wrong("resourceScope")}
          />
          {values.scopeType !== "" && (
            <TextField
              label={`Ids of the ${values.scopeType}s`}
              hint="Between spaces or commas; connectors and environments by their slugs."
              value={values.scopeIds}
              onChange={set("scopeIds")}
            />
          )}
          <TextField
            label="Addresses (optional)"
            hint="From which it may be used, as 203.0.113.7 or 203.0.113.0/24."
            value={values.allowedIps}
            onChange={set("allowedIps")}
            wrong={wrong("allowedIps")}
          />
          <TextField
            label="Requests a minute (optional)"
            type="number"
            value={values.rateLimit}
            onChange={set("rateLimit")}
            wrong={wrong("rateLimitPerMinute")}
          />
          <Select
            label="Expires"
            value={values.expires}
            onChange={set("expires")}
            options={[
              ["30d", "in 30 days"],
              ["90d", "in 90 days"],
              ["1y", "in a year"],
              ["never", "never"]
            ]}
            wrong={wrong("expires")}
          />
          <Check checked={values.hmac} onChange={set("hmac")}>
            Callers sign whom they act for (HMAC): the key's second secret is shown with it
          </Check>
          <div>
            <Button onClick={() => setStep(0)}>Back</Button>
          </div>
        </>
      )}
    </FormDialog>
  )
}

const CustomerChecks = ({
  choose,
  chosen
}: {
  readonly chosen: ReadonlyArray<string>
  readonly choose: (ids: ReadonlyArray<string>) => void
}) => {
  const { rows } = useList("/api/v1/customers", { status: "active" }, { pageSize: 200 })
  return (
    <fieldset>
      <legend>Customers of the key</legend>
      <div className="stack tight">
        {rows.map(({ id, name }) => (
          <Check
            key={id}
            checked={chosen.includes(id)}
            onChange={(isChosen) => choose(isChosen ? [...chosen, id] : chosen.filter((one) => one !== id))}
          >
            {name}
          </Check>
        ))}
      </div>
    </fieldset>
  )
}
