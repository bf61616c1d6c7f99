import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { quoted, shellWord } from './terminal.js'

it.each(['/plain/path.js', '/a path/cli.js', "it's", '$HOME `date` "x" \\', '*', ''])(
  'a shell reads the quoted text %j as one word',
  (text) => {
    for (const word of [quoted(text), shellWord(text)]) {
      expect(execFileSync('sh', ['-c', `printf %s ${word}`], { encoding: 'utf8' })).toBe(text)
    }
  },
)

it('a plain path gets no quotes', () => {
  expect(shellWord('packages/server/dist/cli.js')).toBe('packages/server/dist/cli.js')
})
