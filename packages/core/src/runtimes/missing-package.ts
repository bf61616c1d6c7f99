/** True if an `import` of an optional package failed because the package is not installed. */
export function isMissing(error: unknown, name: string): boolean {
  const { code = '', message = '' } = error as { readonly code?: string; readonly message?: string }
  return /^(?:ERR_)?MODULE_NOT_FOUND$/.test(code) && message.includes(name)
}

/** Names the command that installs an optional package. Continues a sentence. */
export const needsPackage = (name: string): string =>
  `needs the package ${name}: npm install ${name}`
