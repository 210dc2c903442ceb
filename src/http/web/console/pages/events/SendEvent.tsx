/** Sends an event of one's own, which triggers match by its type. */
import { useLocation } from "wouter"
import { bodyOf, client } from "../../api/Client.js"
import { useChange } from "../../api/Reads.js"
import { CustomerChoice } from "../../ui/Choices.js"
import { FormDialog } from "../../ui/Dialog.js"
import { TextArea, TextField } from "../../ui/Field.js"
import { parseJson } from "../../ui/parseJson.js"
import { useForm } from "../../ui/useForm.js"

export const SendEvent = ({ close }: { readonly close: () => void }) => {
  const { set, values } = useForm({ type: "", payload: "{}", customerId: "" })
  const [, go] = useLocation()
  const payload = parseJson(values.payload)
  const send = useChange(
    () =>
      bodyOf(
        client.POST("/api/v1/events", {
          body: {
            type: values.type,
            payload: (payload.ok ? payload.value : null) as Record<string, never>,
            ...(values.customerId === "" ? {} : { customerId: values.customerId })
          }
        })
      ),
    {
      changes: ["/api/v1/events"],
      done: ({ data }) => {
        close()
        go(`/events/${data.eventId}`)
      }
    }
  )
  return (
    <FormDialog
      title="Send an event"
      verb="Send"
      isOpen
      close={close}
      send={() => send.run()}
      isRunning={send.isRunning}
      isReady={values.type !== "" && payload.ok}
      error={send.error}
    >
      <TextField
        label="Type"
        value={values.type}
        onChange={set("type")}
        placeholder="order.created"
        isRequired
        wrong={send.error?.detailOf("type")}
      />
      <CustomerChoice
        value={values.customerId}
        onChange={set("customerId")}
        none="None"
        wrong={send.error?.detailOf("customerId")}
      />
      <TextArea
        label="Payload, as JSON"
        value={values.payload}
        onChange={set("payload")}
        wrong={payload.ok ? send.error?.detailOf("payload") : payload.message}
      />
    </FormDialog>
  )
}
