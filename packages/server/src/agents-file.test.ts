import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadAgents } from './agents-file.js'

let root: string
beforeAll(() => {
  root = mkdtempSync(path.join(tmpdir(), 'agents-file-'))
})
afterAll(() => rmSync(root, { recursive: true }))

function fileWith(name: string, source: string): string {
  const file = path.join(root, name)
  writeFileSync(file, source)
  return file
}

describe('an agents file', () => {
  it('provides the functions of its default export', async () => {
    const file = fileWith(
      'good.mjs',
      'export default { shout: ({ message }) => message.toUpperCase(), later: async () => "later" }',
    )
    const { agents, programs } = await loadAgents(path.relative('', file))
    expect(Object.keys(agents)).toEqual(['shout', 'later'])
    expect(programs).toEqual({})
  })

  it('provides exported programs, with or without functions', async () => {
    const programs = {
      py: {
        command: 'python3',
        args: ['agent.py'],
        env: { MODE: 'x' },
        cwd: '/srv',
        inheritEnv: ['KEY'],
      },
      own: { command: './own' },
      coder: { command: 'coder', permissions: { allow: ['read', 'search'] }, login: 'api-key' },
      trusted: { command: 'trusted', permissions: 'allow' },
      asking: { command: 'asking', permissions: { allow: ['read'], otherwise: 'ask' } },
    }
    const source = `export const programs = ${JSON.stringify(programs)}`
    expect(await loadAgents(fileWith('programs.mjs', source))).toEqual({ agents: {}, programs })
    const both = await loadAgents(
      fileWith('both.mjs', `${source}\nexport default { shout: () => "A" }`),
    )
    expect(both.programs).toEqual(programs)
    expect(Object.keys(both.agents)).toEqual(['shout'])
    const none = await loadAgents(fileWith('none.mjs', `${source}\nexport default {}`))
    expect(none).toEqual({ agents: {}, programs })
  })

  it('is named by its absolute path when it is missing', async () => {
    await expect(loadAgents('no-such-file.mjs')).rejects.toThrow(
      `--agents: file not found: ${path.resolve('no-such-file.mjs')}`,
    )
  })

  it.each([
    ['syntax.mjs', 'export default {', 'cannot be loaded'],
    ['throws.mjs', 'throw new Error("no licence")', 'cannot be loaded: no licence'],
    [
      'named.mjs',
      'export const shout = () => "A"',
      'must have a default export of the form { name: (request) => answer }',
    ],
    [
      'function.mjs',
      'export default () => "A"',
      'must have a default export of the form { name: (request) => answer }',
    ],
    [
      'empty.mjs',
      'export default {}',
      'must have a default export of the form { name: (request) => answer }',
    ],
    [
      'null.mjs',
      'export default null',
      'must have a default export of the form { name: (request) => answer }',
    ],
    [
      'programs-and-null.mjs',
      'export const programs = {}; export default null',
      'must have a default export of the form { name: (request) => answer }',
    ],
    ['text.mjs', 'export default { shout: "A" }', 'must export functions, but "shout" is a string'],
    [
      'p-text.mjs',
      'export const programs = "python3"',
      'exports invalid programs: programs must be an object',
    ],
    [
      'p-null.mjs',
      'export const programs = null',
      'exports invalid programs: programs must be an object',
    ],
    [
      'p-command.mjs',
      'export const programs = { py: {} }',
      'exports invalid programs: programs.py.command is required',
    ],
    [
      'p-empty.mjs',
      'export const programs = { py: { command: "" } }',
      'exports invalid programs: programs.py.command must not be empty',
    ],
    [
      'p-string.mjs',
      'export const programs = { py: "python3 agent.py" }',
      'exports invalid programs: programs.py must be an object',
    ],
    [
      'p-args.mjs',
      'export const programs = { py: { command: "a", args: "b" } }',
      'exports invalid programs: programs.py.args must be an array',
    ],
    [
      'p-arg.mjs',
      'export const programs = { py: { command: "a", args: [1] } }',
      'exports invalid programs: programs.py.args.0 must be a string',
    ],
    [
      'p-env.mjs',
      'export const programs = { py: { command: "a", env: { N: 1 } } }',
      'exports invalid programs: programs.py.env.N must be a string',
    ],
    [
      'p-login.mjs',
      'export const programs = { py: { command: "a", login: true } }',
      'exports invalid programs: programs.py.login must be a string',
    ],
    ...[
      '"yes"',
      'true',
      '{ allow: ["everything"] }',
      '{ deny: ["edit"] }',
      '{ allow: [], otherwise: "allow" }',
    ].map((permissions, index) => [
      `p-permissions-${index}.mjs`,
      `export const programs = { py: { command: "a", permissions: ${permissions} } }`,
      'exports invalid programs: programs.py.permissions must be "deny", "allow", "ask" or { allow: [kinds], otherwise: "deny" or "ask" }',
    ]),
    [
      'p-typo.mjs',
      'export const programs = { py: { command: "a", arg: [] } }',
      'exports invalid programs: programs.py has the unknown option arg',
    ],
  ])('is rejected with a reason: %s', async (name, source, why) => {
    const file = fileWith(name, source)
    await expect(loadAgents(file)).rejects.toMatchObject({ name: 'OperatorError', exitCode: 2 })
    await expect(loadAgents(file)).rejects.toThrow(`--agents: ${file} ${why}`)
  })
})
