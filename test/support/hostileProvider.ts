/** A provider in a process of its own: large answers, answers in chunks of one byte, and answers that never come. */
import { type ChildProcess, spawn } from "node:child_process"

const serving = `
import { createServer } from "node:http"
const one = Buffer.from("1\\r\\nx\\r\\n")
const server = createServer((request, response) => {
  request.resume()
  const url = new URL(request.url, "http://provider")
  const bytes = Number(url.searchParams.get("bytes"))
  if (url.pathname === "/large") return response.end(Buffer.alloc(bytes, "x"))
  if (url.pathname === "/hang") return
  if (url.pathname !== "/chunks") return response.end("ok")
  const { socket } = response
  socket.write("HTTP/1.1 200 OK\\r\\ntransfer-encoding: chunked\\r\\n\\r\\n")
  const piece = Buffer.concat(Array.from({ length: 4096 }, () => one))
  let left = bytes
  const write = () => {
    while (left > 0) {
      left -= 4096
      if (!socket.write(piece)) return socket.once("drain", write)
    }
    socket.end("0\\r\\n\\r\\n")
  }
  write()
})
server.listen(0, "127.0.0.1", () => process.stdout.write(String(server.address().port) + "\\n"))
`

export interface HostileProvider {
  readonly url: string
  readonly stop: () => Promise<void>
}

export const startHostileProvider = async (): Promise<HostileProvider> => {
  const child: ChildProcess = spawn(process.execPath, ["--input-type=module", "-e", serving], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  const port = await new Promise<string>((resolve) =>
    child.stdout?.setEncoding("utf8").once("data", (text: string) => resolve(text.trim()))
  )
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () =>
      new Promise((resolve) => {
        child.once("close", () => resolve())
        child.kill()
      })
  }
}
