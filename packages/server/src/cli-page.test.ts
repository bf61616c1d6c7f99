import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { createProgram } from './program.js'

const page = readFileSync(new URL('../../../docs/cli.md', import.meta.url), 'utf8')
const program = createProgram()

const leaves = (command: Command): string[] =>
  command.commands.length === 0
    ? [command.name()]
    : command.commands.flatMap(leaves).map((rest) => `${command.name()} ${rest}`)

const names = program.commands.flatMap(leaves)
const options = (command: Command): string[] => [
  ...command.options.flatMap(({ long }) => long ?? []),
  ...command.commands.flatMap(options),
]

it('the page of the command line has a heading for each command', () => {
  const headings = [...page.matchAll(/^### `([^`<[]+?)(?: [<[][^`]*)?`$/gm)].map(([, name]) => name)
  expect(new Set(headings)).toEqual(new Set(names))
  expect(headings).toHaveLength(names.length)
})

it('the page of the command line names only options that exist', () => {
  const named = new Set([...page.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map(([option]) => option))
  const known = new Set(options(program))
  expect([...named].filter((option) => !known.has(option))).toEqual([])
})
