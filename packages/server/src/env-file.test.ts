import { expect, it } from 'vitest'
import { envFileProblems } from './env-file.js'

it('names the lines of an .env file that set nothing, without what is in them', () => {
  const text = ['# a comment', '', 'PORT=3000', 'CRON_SECRET abc', 'export HOST=x', 'KEY="one', 'two', 'three"', '  loose', "A=''"].join(
    '\n',
  )
  expect(envFileProblems(text)).toEqual(['.env line 4 has no "=" and has no effect', '.env line 9 has no "=" and has no effect'])
})
