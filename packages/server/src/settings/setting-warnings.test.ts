import { expect, it } from 'vitest'
import { envFileProblems, unknownVariables, unsupportedLogs } from './setting-warnings.js'

it('a line of .env that sets nothing is named by its number, without its text', () => {
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
    [4, 9, 11].map((line) => `.env line ${line} is ignored: expected NAME=value`),
  )
})

it('an unknown variable is named with the most similar setting', () => {
  expect(
    unknownVariables({
      SERVICE_DATABSE_URL: 'file:x',
      SERVICE_PUBLIC_URL: 'https://a.example',
      SERVICE_MASTER_KEY_FILE: '/run/secrets/key',
      PATH: '/bin',
    }),
  ).toEqual([
    'SERVICE_DATABSE_URL is ignored: there is no such setting. Did you mean SERVICE_DATABASE_URL?',
  ])
})

it('an unknown variable is named without a suggestion when no setting is similar', () => {
  expect(unknownVariables({ SERVICE_QQQQQQQQQ: '1' })).toEqual([
    'SERVICE_QQQQQQQQQ is ignored: there is no such setting',
  ])
  expect(unknownVariables({ 'SERVICE_MASTER_KEY: c2VjcmV0': '' })).toEqual([])
})

it.each([
  ['otlp', ['OTEL_LOGS_EXPORTER is not supported: the server does not export its logs']],
  ['none', []],
  ['', []],
])('OTEL_LOGS_EXPORTER %j is answered with %j', (exporter, lines) => {
  expect(unsupportedLogs({ OTEL_LOGS_EXPORTER: exporter })).toEqual(lines)
})
