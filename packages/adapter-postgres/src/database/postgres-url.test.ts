import { expect, it } from 'vitest'
import { splitPostgresUrl } from './postgres-url.js'

it.each([
  ['postgres://u:p@db/app?sslmode=require', ['postgres://u:p@db/app?sslmode=require'], false],
  ['postgres:///app?host=/run/postgresql', ['postgres:///app?host=/run/postgresql'], false],
  ['postgres://db/app?target_session_attrs=any', ['postgres://db/app'], false],
  ['postgresql://a:5432,b/app', ['postgresql://a:5432/app', 'postgresql://b/app'], false],
  [
    'postgres://u:a%2Cb@a:5432,[::1]:5433/app?target_session_attrs=read-write&sslmode=require',
    [
      'postgres://u:a%2Cb@a:5432/app?sslmode=require',
      'postgres://u:a%2Cb@[::1]:5433/app?sslmode=require',
    ],
    true,
  ],
])('splits %s', (url, urls, needsWrites) => {
  expect(splitPostgresUrl(url)).toEqual({ urls, needsWrites })
})

it('refuses another target', () => {
  expect(() => splitPostgresUrl('postgres://a,b/app?target_session_attrs=standby')).toThrow(
    'target_session_attrs is "standby"; use any or read-write.',
  )
})
