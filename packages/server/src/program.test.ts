import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram, exitCodeOf } from './program.js'

type Ended = { readonly code: number; readonly out: string; readonly said: string }

/** A command line, its words separated by single spaces. */
async function run(line: string): Promise<Ended> {
  let [out, said] = ['', '']
  const program = createProgram({
    writeOut: (text) => (out += text),
    writeErr: (text) => (said += text),
  })
  const code = await program.parseAsync(line === '' ? [] : line.split(' '), { from: 'user' }).then(
    () => 0,
    (error: unknown) => {
      said += error instanceof Error ? error.message : ''
      return exitCodeOf(error)
    },
  )
  return { code, out, said }
}

describe('the command line', () => {
  it.each([
    ['', /Usage: agent-messaging/],
    ['agnts list', /unknown command 'agnts'\n\(Did you mean agents\?\)/],
    ['agents strat echo', /unknown command 'strat'\n\(Did you mean start\?\)/],
    ['agents list --jsn', /unknown option '--jsn'\n\(Did you mean --json\?\)/],
    ['agents list extra', /too many arguments/],
    ['keys create web', /required option '--permission <permission>' not specified/],
    ['keys create web --permission everything', /Allowed choices are project:message, .*, all\./],
    ['keys create web --permission all --expires-at soon', /It takes an instant such as/],
    ['agents create x', /an agent needs one of --handler, /],
    ['agents create x --handler echo --url http://x', /cannot be used with option/],
    ['agents create x --handler echo --concurrency many', /It takes a whole number/],
    ['listen --port 70000', /It takes a port/],
    ['deliveries list --limit 0', /It takes a whole number, 1 to 999999999/],
    ['deliveries list --limit 9999999999', /It takes a whole number, 1 to 999999999/],
    ['listen --status 42', /It takes a status that ends a request, 200 to 599/],
    ['listen --status 600', /It takes a status/],
  ])('ends with 2 and says what is wrong: %s', async (line, said) => {
    expect(await run(line)).toEqual({ code: 2, out: '', said: expect.stringMatching(said) })
  })

  it.each(['--help', 'help agents', 'agents --help', 'agents create --help', '--version'])(
    'ends with 0: %s',
    async (line) => {
      expect(await run(line)).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^(Usage: |\d+\.\d+\.\d+)/),
      })
    },
  )

  const leaves = (command: Command): string[][] => {
    const below = command.commands.flatMap(leaves)
    return below.length === 0
      ? [[command.name()]]
      : below.map((names) => [command.name(), ...names])
  }
  it.each(leaves(createProgram()).map(([, ...names]) => names.join(' ')))(
    'has an example in the help of %s',
    async (line) => {
      expect((await run(`${line} --help`)).out).toMatch(
        new RegExp(`Examples?:\\n {2}\\$ .*agent-messaging ${line}`),
      )
    },
  )
})
