import type { Command } from 'commander'
import { describe, expect, it } from 'vitest'
import { createProgram, exitCodeOf } from './program.js'

type Ended = { readonly code: number; readonly out: string; readonly said: string }

/** Runs a command line whose words are separated by single spaces. */
async function run(line: string): Promise<Ended> {
  let out = ''
  let said = ''
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
    ['keys create web --role owner', /Allowed choices are viewer, support, operator, admin\./],
    ['keys create web --permission everything', /Allowed choices are project:read, .*, all\./],
    ['keys create web --permission all --expires-at soon', /Expected a time such as/],
    ['agents create x', /an agent requires --handler, /],
    ['agents create x --handler echo --url http://x', /cannot be used with option/],
    ['agents create x --handler echo --concurrency many', /It must be a whole number/],
    ['listen --port 70000', /Expected a port/],
    ['deliveries list --limit 0', /Expected a whole number from 1 to 999999999/],
    ['deliveries list --limit 9999999999', /Expected a whole number from 1 to 999999999/],
    ['listen --status 42', /Expected a final status code from 200 to 599/],
    ['listen --status 600', /Expected a final status code/],
  ])('exits with 2 and an error message: %s', async (line, said) => {
    expect(await run(line)).toEqual({ code: 2, out: '', said: expect.stringMatching(said) })
  })

  it.each(['--help', 'help agents', 'agents --help', 'agents create --help', '--version'])(
    'exits with 0: %s',
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
    'shows an example in the help of %s',
    async (line) => {
      expect((await run(`${line} --help`)).out).toMatch(
        new RegExp(`Examples?:\\n {2}\\$ .*agent-messaging ${line}`),
      )
    },
  )
})
