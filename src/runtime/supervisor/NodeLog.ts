/** What a node writes, as the supervisor passes it on: each line with the name of its node. */

/** A line of JSON stays one, with a member `node`; a line of text gets the name in front of it. */
export const namedLine = (node: string, line: string): string =>
  line.startsWith("{") && line.endsWith("}")
    ? `{"node":"${node}"${line === "{}" ? "" : ","}${line.slice(1)}`
    : `${node}: ${line}`
