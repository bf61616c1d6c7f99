import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'

const HOME = fileURLToPath(new URL('..', import.meta.url))
const { bin } = JSON.parse(readFileSync(path.join(HOME, 'package.json'), 'utf8')) as {
  bin: { 'agent-messaging': string }
}
const program = bin['agent-messaging']
const run = (home: string) =>
  spawnSync(process.execPath, [path.join(home, program), '--help'], { encoding: 'utf8' })

it('the linked command exists before the build and runs the built program', () => {
  expect(program).not.toContain('dist')
  expect(run(HOME)).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^Usage: agent-messaging/),
    stderr: '',
  })
})

it('the linked command names the build command when nothing is built', () => {
  const home = mkdtempSync(path.join(HOME, 'unbuilt-')) // finds the packages of the clone
  onTestFinished(() => rmSync(home, { recursive: true }))
  cpSync(path.join(HOME, path.dirname(program)), path.join(home, path.dirname(program)), {
    recursive: true,
  })
  expect(run(home)).toMatchObject({
    status: 1,
    stdout: '',
    stderr: expect.stringContaining('npm run build'),
  })
})
