/** A line for each line of an `.env` file that sets nothing: most lack their `=`. What is in it is not shown, for it may be a secret. */
export function envFileProblems(text: string): string[] {
  // A quoted value may go on over lines; what it holds is left out, and the lines stay where they are.
  const plain = text.replaceAll(
    /=[ \t]*(["'`])[^]*?\1/g,
    (value) => `=${value.replaceAll(/[^\n]/g, '')}`,
  )
  return plain.split('\n').flatMap((line, index) => {
    const isSetting =
      line.trim() === '' ||
      line.trimStart().startsWith('#') ||
      /^\s*(?:export\s+)?[\w.-]+\s*=/.test(line)
    return isSetting ? [] : [`.env line ${index + 1} is not NAME=value and has no effect`]
  })
}
