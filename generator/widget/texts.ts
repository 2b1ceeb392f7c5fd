/** Label, trouble, maintenance, the button and the link, in each language. */
const languages: Readonly<Record<string, string>> = {
  en: 'Service status|Some services are disrupted|Maintenance in progress|Dismiss|Details',
  de: 'Dienststatus|Einige Dienste sind gestört|Wartungsarbeiten laufen|Schließen|Details',
  fr: 'État des services|Certains services sont perturbés|Maintenance en cours|Fermer|Détails',
  nl: 'Dienststatus|Sommige diensten zijn verstoord|Onderhoud wordt uitgevoerd|Sluiten|Details',
  es: 'Estado de los servicios|Algunos servicios tienen problemas|Mantenimiento en curso|Cerrar|Detalles',
  pl: 'Stan usług|Niektóre usługi mają problemy|Trwają prace konserwacyjne|Zamknij|Szczegóły',
};

/** The texts of the site itself, else those of the first wished language that there is, else English ones. */
export function chooseTexts(data: DOMStringMap) {
  const wished = [data.lang, document.documentElement.lang, ...navigator.languages].filter(Boolean) as string[];
  const known = wished.map((tag) => tag.toLowerCase().split('-')[0]!).find((tag) => typeof languages[tag] === 'string');
  const [label = '', disrupted = '', maintenance = '', dismiss = '', details = ''] =
    languages[known ?? 'en']!.split('|');
  return {
    // A site that brings its own words may speak any language.
    lang: (data.textDisrupted && wished[0]) || known || 'en',
    label: data.textLabel ?? label,
    kinds: { disrupted: data.textDisrupted ?? disrupted, maintenance: data.textMaintenance ?? maintenance },
    dismiss: data.textDismiss ?? dismiss,
    details: data.textDetails ?? details,
  };
}
