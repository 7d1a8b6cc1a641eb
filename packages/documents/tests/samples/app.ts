<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" sourcelanguage="de">
<context>
    <name>MainWindow</name>
    <message>
        <location filename="../main.cpp" line="12"/>
        <source>&amp;Datei öffnen …</source>
        <comment>Menü</comment>
        <extracomment>Kurz halten</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message id="id.two">
        <source>Zweite
Zeile &lt;b&gt;fett&lt;/b&gt;<byte value="x7"/> und %1</source>
        <translation type='unfinished'/>
    </message>
    <message>
        <source> Fertig </source>
        <translation> 완료 </translation>
    </message>
    <message>
        <source>Vielleicht</source>
        <translatorcomment>unsicher</translatorcomment>
        <translation  type="unfinished" >아마</translation>
    </message>
    <message numerus="yes">
        <source>%n Datei(en)</source>
        <translation type="unfinished">
            <numerusform></numerusform>
            <numerusform/>
        </translation>
    </message>
    <message>
        <source>Vorbei</source>
        <translation type="vanished">끝</translation>
    </message>
    <message>
        <source>Lang</source>
        <translation variants="yes"><lengthvariant>길다</lengthvariant></translation>
    </message>
</context>
</TS>
