/** A table that is printed on the terminal, with notes below it. */
export class Table {
  private readonly rows: Array<ReadonlyArray<string>>
  private readonly notes: Array<string> = []

  constructor(...head: ReadonlyArray<string>) {
    this.rows = [head]
  }

  add(...cells: ReadonlyArray<string | number>): void {
    this.rows.push(cells.map(String))
  }

  note(text: string): void {
    this.notes.push(text)
  }

  print(title: string): void {
    const widths = (this.rows[0] ?? []).map((_, column) =>
      Math.max(...this.rows.map((row) => row[column]?.length ?? 0))
    )
    const line = (row: ReadonlyArray<string>) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join("  ")
    console.log(["", title, ...this.rows.map(line), ...this.notes.map((note) => `  ${note}`)].join("\n"))
  }
}
