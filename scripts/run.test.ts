import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { npmProblem, root, run } from './run.mjs'

describe('run', () => {
  it('returns the exit code of its program', async () => {
    expect(await run([process.execPath, '-e', 'process.exit(7)'])).toBe(7)
  })

  it('forwards signals to its program, and ends with the program’s exit code', async () => {
    const program = `process.on('SIGTERM', () => process.exit(3)); console.log('up'); setInterval(() => {}, 1000)`
    const module = new URL('run.mjs', import.meta.url).href
    const script = `import { run } from '${module}'; process.exitCode = await run([process.execPath, '-e', ${JSON.stringify(program)}])`
    const step = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(step.stdout, 'data')
    step.kill('SIGTERM')
    expect(await once(step, 'exit')).toEqual([3, null])
  })
})

describe('a failed npm', () => {
  it.each([
    [
      'npm error code ENOTFOUND\nnpm error network request failed',
      /^npm cannot reach its registry/,
    ],
    ['npm error code EAI_AGAIN', /^npm cannot reach its registry/],
    [
      'npm error code ENOSPC\nnpm error nospc',
      new RegExp(`^The disk of ${root} is full. Free some space on it`),
    ],
    [
      'npm warn tar TAR_ENTRY_ERROR ENOSPC: no space left\nnpm error code ENOENT',
      /^The disk of .* is full/,
    ],
    [
      'npm warn old\nnpm error code EINTEGRITY',
      /^npm error code EINTEGRITY\nThe installation failed/,
    ],
  ])('with %j gives a sentence', (output, sentence) => {
    expect(npmProblem(output)).toMatch(sentence)
  })
})
