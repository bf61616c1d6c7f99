import { expect, it } from 'vitest'
import { envFileProblems } from './env-file.js'

it('names the lines of an .env file that set nothing, without what is in them', () => {
  const text = [
    '# a comment',
    '',
    'PORT=3000',
    'CRON_SECRET abc',
    'export HOST=x',
    'KEY="one',
    'two',
    'three"',
    '  loose',
    "A=''",
  ]
  const problems = envFileProblems([...text, 'SERVICE_MASTER_KEY: c2VjcmV0=', 'B = 1\r'].join('\n'))
  expect(problems).toEqual(
    [4, 9, 11].map((line) => `.env line ${line} is not NAME=value and has no effect`),
  )
})
