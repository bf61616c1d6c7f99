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

describe('the file of agents', () => {
  it('gives the functions of its default export', async () => {
    const file = fileWith('good.mjs', 'export default { shout: ({ message }) => message.toUpperCase(), later: async () => "later" }')
    const agents = await loadAgents(path.relative('', file))
    expect(Object.keys(agents)).toEqual(['shout', 'later'])
  })

  it('is missed with its whole path', async () => {
    await expect(loadAgents('no-such-file.mjs')).rejects.toThrow(`--agents: there is no file ${path.resolve('no-such-file.mjs')}`)
  })

  it.each([
    ['syntax.mjs', 'export default {', 'cannot be loaded: '],
    ['throws.mjs', 'throw new Error("no licence")', 'cannot be loaded: no licence'],
    ['named.mjs', 'export const shout = () => "A"', 'has no default export of the form { name: (request) => answer }'],
    ['function.mjs', 'export default () => "A"', 'has no default export of the form { name: (request) => answer }'],
    ['empty.mjs', 'export default {}', 'has no default export of the form { name: (request) => answer }'],
    ['null.mjs', 'export default null', 'has no default export of the form { name: (request) => answer }'],
    ['text.mjs', 'export default { shout: "A" }', 'exports "shout", which is not a function but a string'],
  ])('is refused as %s with a line that says why', async (name, source, why) => {
    const file = fileWith(name, source)
    await expect(loadAgents(file)).rejects.toMatchObject({ name: 'OperatorError', exitCode: 2 })
    await expect(loadAgents(file)).rejects.toThrow(`--agents: ${file} ${why}`)
  })
})
