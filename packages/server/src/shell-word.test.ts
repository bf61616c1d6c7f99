import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { quoted, shellWord } from './shell-word.js'

it.each(['/plain/path.js', '/a path/cli.js', "it's", '$HOME `date` "x" \\', '*', ''])(
  'a shell reads %j as the word that it was',
  (text) => {
    for (const word of [quoted(text), shellWord(text)]) {
      expect(execFileSync('sh', ['-c', `printf %s ${word}`], { encoding: 'utf8' })).toBe(text)
    }
  },
)

it('leaves a plain path without quotes', () => {
  expect(shellWord('packages/server/dist/cli.js')).toBe('packages/server/dist/cli.js')
})
