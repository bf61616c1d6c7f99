export const isPostgresUrl = (text: string): boolean => /^postgres(ql)?:\/\//.test(text)

/** A database as it may be shown: of a URL neither the password nor the parameters, among which one may be. */
export function shownDatabase(database: string): string {
  if (!isPostgresUrl(database)) return database
  const { protocol, username, host, pathname } = new URL(database)
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`
}
