import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { commandLine } from './command-line.js'
import { createSandbox, type Sandbox } from './sandbox.js'

let sandbox: Sandbox
beforeEach(() => {
  sandbox = createSandbox()
})
afterEach(() => sandbox.dispose())

const { cli } = commandLine(() => sandbox)
const filesOf = (folder: string) => readdirSync(path.join(sandbox.directory, folder)).toSorted()
const manifestOf = (folder: string) =>
  JSON.parse(readFileSync(path.join(sandbox.directory, folder, 'package.json'), 'utf8')) as object

describe('agent-messaging create', () => {
  it('makes a project whose server loads its agents file', async () => {
    expect(await cli('create my-agents')).toMatchObject({
      code: 0,
      stdout: 'Created my-agents. Next:\n\ncd my-agents\nnpm install\nnpm start\n',
    })
    expect(filesOf('my-agents')).toEqual(['.gitignore', 'README.md', 'agents.mjs', 'package.json'])
    expect(manifestOf('my-agents')).toMatchObject({
      name: 'my-agents',
      scripts: { start: 'agent-messaging dev --agents ./agents.mjs' },
      dependencies: { '@org/agent-messaging-server': expect.stringMatching(/^\^\d+\.\d+\.\d+$/) },
    })
    const server = sandbox.cli(['dev', '--agents', 'my-agents/agents.mjs'], { PORT: '0' })
    expect(await server.find(/^ +Agents .*$/m)).toContain('greeter (running)')
  })

  it('makes a project that embeds the service', async () => {
    await cli('create app --template embedded')
    expect(filesOf('app')).toEqual(['.gitignore', 'README.md', 'main.mjs', 'package.json'])
    expect(manifestOf('app')).toMatchObject({
      scripts: { start: 'node main.mjs' },
      dependencies: { '@org/agent-messaging-node': expect.stringMatching(/^\^/) },
    })
  })

  it.each([
    ['My_Agents!', 'my-agents'],
    ['...', 'starter'],
  ])('names the package of the folder %s %s', async (folder, name) => {
    await cli(`create ${folder}`)
    expect(manifestOf(folder)).toMatchObject({ name })
  })

  it('refuses a folder that has files, and changes nothing', async () => {
    await cli('create app')
    expect(await cli('create app --template embedded')).toMatchObject({
      code: 2,
      stderr: 'app is not empty; choose a new folder\n',
    })
    expect(filesOf('app')).not.toContain('main.mjs')
  })

  it('refuses an unknown template', async () => {
    expect(await cli('create app --template other')).toMatchObject({ code: 2 })
  })
})
