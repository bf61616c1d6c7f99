/** What others wrote, for a terminal: control characters, which could drive it, become spaces, but for line breaks and tabs. */
export const harmless = (text: string): string => text.replaceAll(/[^\P{Cc}\n\t]/gu, ' ')
