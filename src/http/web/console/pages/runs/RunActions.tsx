/** Cancels a run, runs it again, and shows how to start one like it. */
import { useState } from "react"
import { useLocation } from "wouter"
import { type ApiSchemas, bodyOf, client } from "../../api/Client.js"
import { useChange } from "../../api/Reads.js"
import { Button } from "../../ui/Button.js"
import { useCopy } from "../../ui/CopyText.js"
import { Confirm, Dialog, FormDialog } from "../../ui/Dialog.js"
import { Select, TextArea, TextField } from "../../ui/Field.js"
import { parseJson } from "../../ui/parseJson.js"
import { useToast } from "../../ui/Toasts.js"

type Execution = ApiSchemas["Execution"]

const runPaths = ["/api/v1/executions", "/api/v1/executions/{eid}", "/api/v1/executions/{eid}/steps"] as const

const isOpen = ({ status }: Pick<Execution, "status">): boolean => status === "pending" || status === "running"

export const RunActions = ({ run }: { readonly run: Execution }) => {
  const [shown, show] = useState<"cancel" | "rerun" | "curl" | undefined>()
  const close = () => show(undefined)
  return (
    <>
      <Button onClick={() => show("curl")}>curl</Button>
      <Button needs="executions:create" onClick={() => show("rerun")}>
        Run again
      </Button>
      {isOpen(run) && (
        <Button kind="danger" needs="executions:create" onClick={() => show("cancel")}>
          Cancel
        </Button>
      )}
      {shown === "cancel" && <CancelDialog run={run} close={close} />}
      {shown === "rerun" && <RerunDialog run={run} close={close} />}
      {shown === "curl" && <CurlDialog run={run} close={close} />}
    </>
  )
}

const CancelDialog = ({ close, run }: { readonly run: Execution; readonly close: () => void }) => {
  const tell = useToast()
  const cancel = useChange(
    () => bodyOf(client.POST("/api/v1/executions/{eid}/cancel", { params: { path: { eid: run.id } } })),
    {
      changes: runPaths,
      done: () => {
        close()
        tell("The run is cancelled.")
      }
    }
  )
  return (
    <Confirm
      title="Cancel this run?"
      verb="Cancel the run"
      isOpen
      close={close}
      send={() => cancel.run()}
      isRunning={cancel.isRunning}
      error={cancel.error}
    >
      <p>The call that it makes now is aborted. What it has done stays done; results that arrive later are ignored.</p>
    </Confirm>
  )
}

const RerunDialog = ({ close, run }: { readonly run: Execution; readonly close: () => void }) => {
  const before = JSON.stringify(run.input, null, 2)
  const [input, setInput] = useState(before)
  const [mode, setMode] = useState(run.status === "failed" ? "resume" : "fresh")
  const [version, setVersion] = useState("same")
  const [fromStep, setFromStep] = useState("")
  const [, go] = useLocation()
  const parsed = parseJson(input)
  const isEdited = input !== before
  const rerun = useChange(
    () =>
      bodyOf(
        client.POST("/api/v1/executions/{eid}/rerun", {
          params: { path: { eid: run.id } },
          body: {
            mode: mode as "fresh" | "resume",
            version: version as "same" | "latest",
            ...(fromStep === "" ? {} : { fromStep }),
            ...(isEdited && parsed.ok ? { input: parsed.value as Record<string, never> } : {})
          }
        })
      ),
    {
      changes: ["/api/v1/executions"],
      done: ({ data }) => {
        close()
        go(`/runs/${data.id}`)
      }
    }
  )
  return (
    <FormDialog
      title="Run again"
      verb="Run"
      isOpen
      close={close}
      isWide
      send={() => rerun.run()}
      isRunning={rerun.isRunning}
      isReady={parsed.ok}
      error={rerun.error}
    >
      <Select
        label="Calls"
        value={mode}
        onChange={setMode}
        options={[
          ["fresh", "Make all calls again"],
          ["resume", "Go on from what failed: calls that succeeded keep their results"]
        ]}
        wrong={rerun.error?.detailOf("mode")}
      />
      <Select
        label="Version"
        value={version}
        onChange={setVersion}
        options={[
          ["same", run.workflowVersion === null ? "The draft, as now" : `Version ${run.workflowVersion}, as before`],
          ["latest", "The version that is deployed now"]
        ]}
        wrong={rerun.error?.detailOf("version")}
      />
      <TextField
        label="From this step (optional)"
        hint="The path of a step, such as sync[3].send: it runs anew, with the steps that depend on it."
        value={fromStep}
        onChange={setFromStep}
        wrong={rerun.error?.detailOf("fromStep")}
      />
      <TextArea
        label="Input"
        rows={10}
        value={input}
        onChange={setInput}
        wrong={parsed.ok ? rerun.error?.detailOf("input") : parsed.message}
      />
    </FormDialog>
  )
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const CurlDialog = ({ close, run }: { readonly run: Execution; readonly close: () => void }) => {
  const { copy, isCopied } = useCopy()
  const customer = run.customerId === null ? "" : ` \\\n  -H ${quoted(`x-org-id: ${run.customerId}`)}`
  const text = `curl -X POST ${location.origin}/api/v1/workflows/${run.workflowId}/execute \\
  -H "authorization: Bearer $SVC_API_KEY" \\
  -H 'content-type: application/json'${customer} \\
  -d ${quoted(JSON.stringify({ input: run.input }))}`
  return (
    <Dialog title="Start a run like this one" isOpen close={close} isWide>
      <p>
        With a key in <code>SVC_API_KEY</code>; keys are made under Keys.
      </p>
      <pre className="value" tabIndex={0}>
        {text}
      </pre>
      <div className="row">
        <Button kind="main" onClick={() => copy(text)}>
          {isCopied ? "Copied" : "Copy"}
        </Button>
      </div>
    </Dialog>
  )
}
